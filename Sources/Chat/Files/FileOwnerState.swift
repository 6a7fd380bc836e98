import CRDT
import Wire

extension File {
    /// A message that names a file.
    public struct Sending: Hashable, Sendable {
        public let message: MessageID
        /// The stamp of the sending of the message; a merge keeps the smaller of two stamps.
        var stamp: Stamp
        /// Whether the message is deleted for everyone; the flag is never unset.
        public var isDeleted = false
    }

    /// One upload under a file's id, and the messages with which its owner sent it.
    ///
    /// An upload is *open* until all its messages are deleted for everyone, or until it expires
    /// because no message names it in time. A message from another side of a network partition
    /// opens the upload again when the message arrives: the nodes that accepted the message still
    /// store the bytes. Once all owners of the shard have learned that the upload is closed, it is
    /// *purged*, which is final, and only names remain.
    public struct OwnerState: Hashable, Sendable {
        private(set) var upload: Upload
        /// The messages that name the upload, ascending by id.
        public private(set) var sendings: [Sending] = []
        /// Whether no message named the upload in time; the flag has no effect once a message names
        /// it.
        public private(set) var isExpired = false
        public private(set) var isPurged = false

        init(_ upload: Upload) { self.upload = upload }

        public var owner: UserID { upload.owner }
        /// The stamp of the upload's beginning.
        public var begun: Stamp { upload.begun }
        /// The media type of the content, for example `image/png`; empty once the upload is purged.
        public var type: String { upload.type.text }
        /// The size in bytes; nil until the upload has ended.
        public var size: UInt64? { upload.content?.size }
        /// The parts in the order of their bytes; nil until the upload has ended.
        public var parts: [PartID]? { upload.content?.parts }

        var key: Upload.Key { upload.key }

        var isClosed: Bool {
            isPurged || (sendings.isEmpty ? isExpired : sendings.allSatisfy(\.isDeleted))
        }

        /// Whether the state contains more than one message that is not deleted, so that the field
        /// `rest` is written.
        var hasRest: Bool {
            isExpired || sendings.count > 1 || sendings.contains(where: \.isDeleted)
        }

        /// The messages that name the upload and are not known to be deleted.
        var living: [MessageID] { sendings.filter { !$0.isDeleted }.map(\.message) }

        /// The earliest message that names the upload.
        var firstMessage: Register<MessageID>? { File.first(of: sendings) }

        /// The earliest message that names the upload and is not known to be deleted.
        var firstLiving: Register<MessageID>? { File.first(of: sendings.filter { !$0.isDeleted }) }

        var greatestTime: HybridTimestamp {
            sendings.reduce(upload.greatestTime) { max($0, $1.stamp.time) }
        }

        /// Returns whether the bytes of a part may be needed; until the upload has ended, every
        /// part may be.
        func needs(_ part: PartID) -> Bool { upload.content?.parts.contains(part) ?? true }

        mutating func add(_ sending: Sending) {
            sendings = File.merged(sendings, [sending])
        }

        mutating func delete(_ message: MessageID) {
            for index in sendings.indices where sendings[index].message == message {
                sendings[index].isDeleted = true
            }
        }

        mutating func expire() { isExpired = true }

        mutating func purge() {
            isPurged = true
            normalize()
        }

        private mutating func normalize() { if isPurged { upload = upload.emptied } }

        /// Whether the state is in the normal form that a merge produces.
        private var isNormal: Bool { !isPurged || upload == upload.emptied }
    }
}

extension File {
    private static func first(of sendings: [Sending]) -> Register<MessageID>? {
        sendings.min { ($0.stamp, $0.message) < ($1.stamp, $1.message) }
            .map { Register($0.message, at: $0.stamp) }
    }

    static func merged(_ mine: [Sending], _ theirs: [Sending]) -> [Sending] {
        mergedAscending(mine, theirs, by: \.message) { $0.merged(with: $1) }
    }
}

extension File.Sending {
    func merged(with other: File.Sending) -> File.Sending {
        File.Sending(
            message: message, stamp: min(stamp, other.stamp),
            isDeleted: isDeleted || other.isDeleted)
    }
}

extension File.OwnerState {
    func merged(with other: File.OwnerState) -> File.OwnerState {
        var merged = File.OwnerState(min(upload, other.upload))
        merged.sendings = File.merged(sendings, other.sendings)
        merged.isExpired = isExpired || other.isExpired
        merged.isPurged = isPurged || other.isPurged
        merged.normalize()
        return merged
    }
}

extension File.Sending: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(message)
        stamp.encode(into: &writer)
        writer.write(isDeleted)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        message = try reader.readName()
        stamp = try Stamp(from: &reader)
        isDeleted = try reader.readFlag()
    }
}

/// The coding of an upload's state in a document with several uploads.
extension File.OwnerState: WireValue {
    public func encode(into writer: inout ByteWriter) {
        upload.encode(into: &writer)
        encodeRest(into: &writer)
    }

    /// Writes the sendings and the flags, which follow the upload.
    func encodeRest(into writer: inout ByteWriter) {
        sendings.encode(into: &writer)
        writer.write(isExpired)
        writer.write(isPurged)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(try Upload(from: &reader))
        try readRest(from: &reader)
    }

    mutating func readRest(from reader: inout ByteReader) throws(WireError) {
        sendings = try reader.readList().ascending("sendings of a file", by: \.message)
        isExpired = try reader.readFlag()
        isPurged = try reader.readFlag()
        guard isNormal else { throw .invalid("a file as a merge leaves it") }
    }
}
