import CRDT
import Wire

extension QueryTable {
    static let ofFiles: [any Query.Type] = [
        FileQuery.self, FilePartQuery.self, UnsentBytesQuery.self,
    ]
}

/// A query for the description of a file in a conversation.
public struct FileQuery: Query {
    public typealias Answer = FileView
    public static let codes: [UInt8] = [33, 29]

    public let file: FileID
    public let conversation: ConversationID
    /// Whether the answer contains the tag of the file's content; earlier versions read no tag.
    public let isTagged: Bool

    public init(_ file: FileID, in conversation: ConversationID, isTagged: Bool = true) {
        self.file = file
        self.conversation = conversation
        self.isTagged = isTagged
    }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        file = try reader.readName()
        conversation = try reader.readName()
        isTagged = code == 33
    }

    public var code: UInt8 { isTagged ? 33 : 29 }

    public func encode(into writer: inout ByteWriter) {
        writer.write(file)
        writer.write(conversation)
    }

    public var partition: String? { conversation.text }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> FileView {
        _ = try source.conversation(conversation, for: viewer, orRefusing: .fileNotFound)
        let found = try source.document(.file(file, in: conversation))?.file
        guard let view = found?.view(as: file, isTagged: isTagged) else {
            throw .refused(.fileNotFound)
        }
        return view
    }
}

/// A query for the bytes of a part of a file; with a tag, the content must have that tag.
public struct FilePartQuery: Query {
    public typealias Answer = FileBytes
    public static let codes: [UInt8] = [30, 34]

    public let index: Int
    public let file: FileID
    public let conversation: ConversationID
    public let tag: String?

    public init(
        _ index: Int, of file: FileID, in conversation: ConversationID, tag: String? = nil
    ) {
        self.index = index
        self.file = file
        self.conversation = conversation
        self.tag = tag
    }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        index = try reader.readNumber()
        file = try reader.readName()
        conversation = try reader.readName()
        tag = code == 34 ? try reader.readText(limit: FileView.tagBytesMax) : nil
    }

    public var code: UInt8 { tag == nil ? 30 : 34 }

    public func encode(into writer: inout ByteWriter) {
        writer.write(count: index)
        writer.write(file)
        writer.write(conversation)
        if let tag { writer.write(tag) }
    }

    public var partition: String? { conversation.text }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> FileBytes {
        _ = try source.conversation(conversation, for: viewer, orRefusing: .fileNotFound)
        let found = try source.document(.file(file, in: conversation))?.file
        guard let parts = found?.parts(tagged: tag), parts.indices.contains(index),
            let part = try source.document(.part(parts[index], of: file, in: conversation))?.part,
            !part.isPurged
        else { throw .refused(.fileNotFound) }
        return FileBytes(part.bytes)
    }
}

/// A query for the bytes that the user has uploaded and not sent.
///
/// Of a file that the user uploads again, only the bytes above the size limit of a file count.
public struct UnsentBytesQuery: Query {
    public typealias Answer = UnsentBytes
    public static let codes: [UInt8] = [42]
    public static let isForOperators = true

    /// The file that the user uploads again.
    public let file: FileID
    public let conversation: ConversationID

    public init(besides file: FileID, in conversation: ConversationID) {
        self.file = file
        self.conversation = conversation
    }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        file = try reader.readName()
        conversation = try reader.readName()
    }

    public func encode(into writer: inout ByteWriter) {
        writer.write(file)
        writer.write(conversation)
    }

    public var partition: String? { nil }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> UnsentBytes {
        let (user, other) = (viewer.user, DocumentKey.file(file, in: conversation))
        var bytes: UInt64 = 0
        for key in try source.keys(of: .file, carrying: Term.unsent(by: user), partition: nil)
        where bytes < File.unsentBytesMax {
            guard let file = try source.document(key)?.file, let id = FileID(key.id) else {
                continue
            }
            var arrived = 0
            if file.isArriving(from: user) {
                let parts = try source.keys(
                    of: .filePart, carrying: Term.part(of: id), partition: key.partition)
                arrived = parts.count { $0.partOfFile?.file == id } * FilePart.bytesMax
            }
            let unsent = file.unsentBytes(of: user, arrived: UInt64(arrived))
            bytes += key == other ? unsent - min(unsent, File.bytesMax) : unsent
        }
        return UnsentBytes(bytes)
    }
}
