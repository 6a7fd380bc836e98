import CRDT
import Wire

extension Message {
    private enum FieldNumber {
        static let header: UInt64 = 1
        static let versions: UInt64 = 2
        static let deletedBy: UInt64 = 3
        static let pin: UInt64 = 4
        static let retracted: UInt64 = 5
        static let strays: UInt64 = 6
        /// Beside the header, whose bytes have an end.
        static let seq: UInt64 = 7
        static let silent: UInt64 = 8
        static let rivals: UInt64 = 9
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.header, to: header)
        if !versions.isEmpty { fields.set(FieldNumber.versions, to: Versions(list: versions)) }
        if deletedBy != ObservedRemoveSet() { fields.set(FieldNumber.deletedBy, to: deletedBy) }
        if let pin { fields.set(FieldNumber.pin, to: pin) }
        if isRetracted { fields.set(FieldNumber.retracted) { _ in } }
        if !strays.isEmpty { fields.set(FieldNumber.strays, to: Strays(list: strays)) }
        if let seq = header.seq { fields.set(FieldNumber.seq) { $0.write(varint: seq) } }
        if header.isSilent { fields.set(FieldNumber.silent) { _ in } }
        if !rivals.isEmpty { fields.set(FieldNumber.rivals, to: rivals) }
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let header = fields.take(FieldNumber.header) else { throw .invalid("a header") }
        self.init(try Header.decode(header))
        if let bytes = fields.take(FieldNumber.seq) {
            var reader = ByteReader(bytes)
            self.header.seq = try reader.readVarint()
            try reader.finish()
        }
        if let bytes = fields.take(FieldNumber.silent) {
            guard bytes.isEmpty else { throw .invalid("a mark of silence") }
            self.header.isSilent = true
        }
        if let bytes = fields.take(FieldNumber.rivals) {
            rivals = try Context.decode(bytes)
            guard !rivals.isEmpty else { throw .invalid("other sendings") }
        }
        if let bytes = fields.take(FieldNumber.versions) {
            versions = try Versions.decode(bytes).list
        }
        if let bytes = fields.take(FieldNumber.deletedBy) {
            deletedBy = try ObservedRemoveSet.decode(bytes)
            guard deletedBy != ObservedRemoveSet() else { throw .invalid("who deleted it") }
        }
        if let bytes = fields.take(FieldNumber.pin) { pin = try Register.decode(bytes) }
        if let bytes = fields.take(FieldNumber.retracted) {
            guard bytes.isEmpty else { throw .invalid("a mark of deletion") }
            isRetracted = true
        }
        if let bytes = fields.take(FieldNumber.strays) {
            strays = try Strays.decode(bytes).list
            let sending = self.header.sending
            guard strays.allSatisfy({ $0.sending != sending }) else {
                throw .invalid("edits of other sendings")
            }
        }
        guard isNormal else { throw .invalid("a deleted message without its text") }
    }
}

/// A list of edits, ascending.
private struct Versions: WireValue {
    let list: [Message.Version]

    init(list: [Message.Version]) { self.list = list }

    func encode(into writer: inout ByteWriter) {
        writer.write(count: list.count)
        for version in list { version.encode(into: &writer) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        var list: [Message.Version] = []
        for _ in 0..<(try reader.readCount()) {
            list.append(try Message.Version(from: &reader))
        }
        guard zip(list, list.dropFirst()).allSatisfy(<) else {
            throw .invalid("edits that ascend")
        }
        guard !list.isEmpty, Set(list.map(\.operation)).count == list.count else {
            throw .invalid("edits, one for each operation")
        }
        self.list = list
    }
}

/// A list of edits of other sendings than the header's, ascending.
private struct Strays: WireValue {
    let list: [Message.Stray]

    init(list: [Message.Stray]) { self.list = list }

    func encode(into writer: inout ByteWriter) {
        writer.write(count: list.count)
        for stray in list {
            writer.write(fixed: stray.sending)
            stray.version.encode(into: &writer)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        var list: [Message.Stray] = []
        for _ in 0..<(try reader.readCount()) {
            list.append(
                Message.Stray(
                    sending: try reader.readFixed(), version: try Message.Version(from: &reader)))
        }
        guard !list.isEmpty, zip(list, list.dropFirst()).allSatisfy(<) else {
            throw .invalid("edits of other sendings that ascend")
        }
        for (sending, edits) in Dictionary(grouping: list, by: \.sending) {
            guard Set(edits.map(\.version.operation)).count == edits.count else {
                throw .invalid("edits of \(sending), one for each operation")
            }
        }
        self.list = list
    }
}

extension Message.Version: WireValue {
    public func encode(into writer: inout ByteWriter) {
        stamp.encode(into: &writer)
        writer.write(operation)
        writer.write(text)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        stamp = try Stamp(from: &reader)
        operation = try reader.readID()
        text = try reader.readText()
    }
}

extension Message.Header: WireValue {
    public func encode(into writer: inout ByteWriter) {
        sent.encode(into: &writer)
        writer.write(sender)
        writer.write(type.number)
        writer.write(item != nil)
        if let item { writer.write(item) }
        writer.write(text)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        sent = try Stamp(from: &reader)
        sender = try reader.readName()
        type = try MessageType(number: reader.readByte())
        item = try reader.readFlag() ? try reader.readName() : nil
        text = try reader.readText()
    }
}

extension MessageType {
    /// The number on disks and wires.
    var number: UInt8 {
        switch self {
        case .text: 1
        case .image: 2
        case .voice: 3
        case .system: 4
        case .action: 5
        }
    }

    init(number: UInt8) throws(WireError) {
        guard let type = MessageType.allCases.first(where: { $0.number == number }) else {
            throw .invalid("a message type")
        }
        self = type
    }
}

extension Pin: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(by != nil)
        if let by { writer.write(by) }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        by = try reader.readFlag() ? try reader.readName() : nil
    }
}
