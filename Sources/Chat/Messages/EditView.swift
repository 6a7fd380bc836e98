import CRDT
import Wire

/// A text that a message had, and the time from which it was shown.
public struct EditView: Hashable, Sendable {
    public let at: HybridTimestamp
    public let text: String

    public init(at: HybridTimestamp, text: String) {
        self.at = at
        self.text = text
    }
}

extension EditView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        at.encode(into: &writer)
        writer.write(text)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        at = try HybridTimestamp(from: &reader)
        text = try reader.readText(limit: ChatLimits.textBytesMax)
    }
}
