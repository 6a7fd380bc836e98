import CRDT
import Wire

extension Message {
    private enum FieldNumber {
        static let header: UInt64 = 1
        static let versions: UInt64 = 2
        static let deletedBy: UInt64 = 3
        static let pin: UInt64 = 4
        static let retracted: UInt64 = 5
        static let orphanedEdits: UInt64 = 6
        /// The number of the field of the header's dot, which is separate since nothing may follow
        /// the header's bytes.
        static let dot: UInt64 = 7
        static let silent: UInt64 = 8
        static let losingSends: UInt64 = 9
        static let deletionTimes: UInt64 = 10
        static let attachment: UInt64 = 11
        static let otherFiles: UInt64 = 12
        static let otherSends: UInt64 = 13
    }

    /// - Parameter changedBy: the document's context, which contains the replica id of the header's
    ///   dot.
    func write(to fields: inout some FieldSink & ~Copyable, changedBy: Context) {
        fields.set(FieldNumber.header) { header.encode(into: &$0) }
        fields.set(FieldNumber.versions, toList: versions)
        if deletedBy != ObservedRemoveSet() { fields.set(FieldNumber.deletedBy, to: deletedBy) }
        fields.set(FieldNumber.pin, to: pin)
        fields.set(FieldNumber.retracted, to: retractedAt)
        fields.set(FieldNumber.orphanedEdits, toList: shown.orphanedEdits)
        fields.set(FieldNumber.dot) { $0.write(header.dot, in: changedBy) }
        if header.isSilent { fields.set(FieldNumber.silent) { _ in } }
        if !losingSends.isEmpty { fields.set(FieldNumber.losingSends, to: losingSends) }
        if !deletionTimes.isEmpty { fields.set(FieldNumber.deletionTimes, to: deletionTimes) }
        fields.set(FieldNumber.attachment, to: header.attachment)
        fields.set(FieldNumber.otherFiles, toList: otherFiles)
        guard !others.isEmpty else { return }
        fields.set(FieldNumber.otherSends) { writer in
            writer.write(count: others.count)
            for send in others { send.encode(into: &writer, changedBy: changedBy) }
        }
    }

    init(from fields: inout Fields, changedBy: Context) throws(WireError) {
        guard let header = fields.removeField(FieldNumber.header),
            let sending = fields.removeField(FieldNumber.dot)
        else { throw .invalid("a header") }
        var dotReader = ByteReader(sending)
        let dot = try dotReader.readDot(in: changedBy)
        try dotReader.finish()
        var reader = ByteReader(header)
        self.init(try Header(from: &reader, sentBy: dot))
        try reader.finish()
        if let bytes = fields.removeField(FieldNumber.silent) {
            guard bytes.isEmpty else { throw .invalid("a mark of silence") }
            shown.header.isSilent = true
        }
        shown.header.attachment = try fields.take(FieldNumber.attachment)
        otherFiles = try fields.take(FieldNumber.otherFiles, orEmpty: [], "other files")
            .ascending("other files", by: \.self)
        // Nearly all messages were sent once, without a file; for these the first test suffices and
        // no set is made.
        guard otherFiles.isEmpty || Set(otherFiles).isDisjoint(with: self.header.files) else {
            throw .invalid("other files")
        }
        losingSends = try fields.take(
            FieldNumber.losingSends, orEmpty: Context(), "other sendings")
        shown.versions = try fields.take(FieldNumber.versions, orEmpty: [], "edits")
            .ascending("edits", within: \.stamp.time)
        deletedBy = try fields.take(
            FieldNumber.deletedBy, orEmpty: ObservedRemoveSet(), "who deleted it")
        shown.pin = try fields.take(FieldNumber.pin)
        shown.retractedAt = try fields.take(FieldNumber.retracted)
        deletionTimes = try fields.take(
            FieldNumber.deletionTimes, orEmpty: ChangeTimes(), "times of changes")
        shown.orphanedEdits = try fields.take(
            FieldNumber.orphanedEdits, orEmpty: [], "edits of other sendings"
        ).ascending("edits of other sendings", within: \.version.stamp.time)
        if !shown.orphanedEdits.isEmpty {
            let kept = self.header.sending
            guard shown.orphanedEdits.allSatisfy({ $0.sending != kept }) else {
                throw .invalid("edits of other sendings")
            }
        }
        guard shown.isNormal else { throw .invalid("a deleted message without its text") }
        if let bytes = fields.removeField(FieldNumber.otherSends) {
            try readOthers(bytes, changedBy: changedBy)
        }
    }

    private mutating func readOthers(
        _ bytes: [UInt8], changedBy: Context
    ) throws(WireError) {
        var reader = ByteReader(bytes)
        let count = try reader.readNumber()
        guard count > 0, count <= reader.remaining else { throw .invalid("other sends") }
        for _ in 0..<count { others.append(try Send(from: &reader, changedBy: changedBy)) }
        try reader.finish()
        let sends = [shown] + others
        let isInOrder = zip(sends, others).allSatisfy { $0.header < $1.header }
        guard isInOrder, Set(sends.map(\.header.sender)).count == sends.count else {
            throw .invalid("what several users sent")
        }
    }
}

/// The coding of a send of another user than the sender of the shown message.
extension Message.Send {
    func encode(into writer: inout ByteWriter, changedBy: Context) {
        writer.write(header.dot, in: changedBy)
        header.encode(into: &writer)
        writer.write(header.isSilent)
        header.attachment.encode(into: &writer)
        orphanedEdits.encode(into: &writer)
        pin.encode(into: &writer)
        retractedAt.encode(into: &writer)
    }

    init(from reader: inout ByteReader, changedBy: Context) throws(WireError) {
        let dot = try reader.readDot(in: changedBy)
        var header = try Message.Header(from: &reader, sentBy: dot)
        header.isSilent = try reader.readFlag()
        header.attachment = try Optional(from: &reader)
        self.init(header: header)
        let orphans: [Message.OrphanedEdit] = try reader.readList()
        orphanedEdits = try orphans.ascending(
            "edits of other sendings", within: \.version.stamp.time)
        pin = try Optional(from: &reader)
        retractedAt = try Optional(from: &reader)
        guard isSuperseded, isNormal else { throw .invalid("what another user sent") }
    }
}

extension Message.OrphanedEdit: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(fixed: sending)
        version.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        sending = try reader.readFixed()
        version = try Message.Version(from: &reader)
    }
}

extension Message.Version: WireValue {
    public func encode(into writer: inout ByteWriter) {
        stamp.encode(into: &writer)
        writer.write(text)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        stamp = try Stamp(from: &reader)
        text = try reader.readText()
    }
}

/// The coding of a dot in a document's bytes: the index of its replica id in the document's
/// context, then the seq.
extension ByteWriter {
    mutating func write(_ dot: Dot, in context: Context) {
        guard let place = context.dots.firstIndex(where: { $0.replica == dot.replica }) else {
            preconditionFailure("a document names every replica that changed it")
        }
        write(count: place)
        write(varint: dot.seq)
    }
}

extension ByteReader {
    mutating func readDot(in context: Context) throws(WireError) -> Dot {
        let place = try readVarint()
        let seq = try readVarint()
        guard place < UInt64(context.dots.count) else {
            throw .invalid("a replica that changed it")
        }
        let last = context.dots[Int(place)]
        guard (1...last.seq).contains(seq) else { throw .invalid("a seq of what changed it") }
        return Dot(replica: last.replica, seq: seq)
    }
}

/// The coding of a header without its dot, which the document writes in another field.
extension Message.Header {
    func encode(into writer: inout ByteWriter) {
        sent.encode(into: &writer)
        writer.write(sender)
        type.encode(into: &writer)
        item.encode(into: &writer)
        writer.write(text)
    }

    init(from reader: inout ByteReader, sentBy dot: Dot) throws(WireError) {
        self.dot = dot
        sent = try Stamp(from: &reader)
        sender = try reader.readName()
        type = try MessageType(from: &reader)
        item = try Optional(from: &reader)
        text = try reader.readText()
    }
}

extension MessageType: NumberedChoice {
    public static var noun: String { "a message type" }

    public var number: UInt8 {
        switch self {
        case .text: 1
        case .image: 2
        case .voice: 3
        case .system: 4
        case .action: 5
        }
    }
}

extension Pin: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(isOn)
        writer.write(user)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        isOn = try reader.readFlag()
        user = try reader.readName()
    }
}
