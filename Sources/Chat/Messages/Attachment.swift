import Wire

/// The files that are sent with a message.
public struct Attachment: Hashable, Sendable {
    public let file: FileID
    /// A small picture of the file, stored as a separate file.
    public let preview: FileID?

    /// The most bytes of a preview (16 KiB).
    public static let previewBytesMax = 16 << 10

    public init(_ file: FileID, preview: FileID? = nil) {
        self.file = file
        self.preview = preview
    }

    /// The file and its preview, without repetition: a small picture may be its own preview.
    var files: [FileID] { preview.map { $0 == file ? [file] : [file, $0] } ?? [file] }
}

extension Attachment: Comparable {
    public static func < (left: Attachment, right: Attachment) -> Bool {
        (left.file.text, left.preview?.text ?? "") < (right.file.text, right.preview?.text ?? "")
    }
}

extension Attachment: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(file)
        preview.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        file = try reader.readName()
        preview = try Optional(from: &reader)
    }
}
