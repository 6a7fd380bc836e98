import CRDT
import Wire

/// A file of a conversation: what its owner uploaded, and the messages that name it.
///
/// Its bytes are in documents of their own, one for each `FilePart`.
///
/// A file is *open* while its parts arrive, *whole* once the end of its upload has named them, and
/// *sent* with a message. It is *closed* while all messages that name it are deleted for everyone;
/// then nobody reads it, and its parts are neither kept nor sent on. Under one id there may be
/// several uploads, by one user or by several, on several sides of a network partition: each has an
/// `OwnerState`, so that none changes or closes another, and a deletion takes no bytes of a message
/// that was sent with another upload.
public struct File: Hashable, Sendable {
    /// Ascending by key, one for each upload, at least one; none of a beginning that has ended.
    public private(set) var states: [OwnerState]
    /// When an operator closed all of it; once set it stays set, and of two times the earlier wins.
    public private(set) var closedAt: HybridTimestamp?

    init(_ upload: Upload) { states = [OwnerState(upload)] }

    /// Whether nobody can read it.
    public var isClosed: Bool { states.allSatisfy(isClosed) }

    /// What a user has uploaded and not sent is closed with what the same user has sent under the
    /// id: a client that got no answer uploads again, and does not know how often it did.
    private func isClosed(_ state: OwnerState) -> Bool {
        guard closedAt == nil, !state.isClosed else { return true }
        return state.sendings.isEmpty
            && states.contains {
                $0.owner == state.owner && !$0.sendings.isEmpty && $0.isClosed
            }
    }

    /// Whether all of it is purged.
    public var isPurged: Bool { states.allSatisfy(\.isPurged) }

    /// Whether somebody's upload under its id is closed, so that parts may be of no use.
    public var hasClosed: Bool { states.contains(where: isClosed) }

    /// Whether somebody's upload under its id is closed and not purged yet.
    public var isDue: Bool { states.contains { isClosed($0) && !$0.isPurged } }

    /// Whether somebody's upload under its id is open, and no message names it.
    public var isUnsent: Bool { !unsent.isEmpty }

    /// The uploads that are open and that no message names.
    var unsent: [OwnerState] { open.filter(\.sendings.isEmpty) }

    /// Whether an upload of a user has not ended.
    public func isArriving(from user: UserID) -> Bool {
        unsent.contains { $0.owner == user && $0.size == nil }
    }

    /// What a user has uploaded and not sent, in bytes, each upload with a least size, so that
    /// their number has a limit, too.
    ///
    /// - Parameter arrived: the size of the parts that have arrived; it counts for an upload that
    ///   has not ended.
    public func unsentBytes(of user: UserID, arrived: UInt64) -> UInt64 {
        var bytes: UInt64 = 0
        for state in unsent where state.owner == user {
            if let size = state.size {
                bytes += min(max(size, File.unsentBytesMin), File.bytesMax)
            } else {
                bytes += max(arrived, File.arrivingBytesMin)
            }
        }
        return bytes
    }

    /// The bytes as which an unsent file counts at least (256 KiB).
    private static let unsentBytesMin: UInt64 = 256 << 10
    /// The bytes as which an upload that has not ended counts at least (5 MiB): it may become
    /// larger.
    private static let arrivingBytesMin: UInt64 = 5 << 20
    /// The most bytes of one file.
    public static let bytesMax = UInt64(FilePart.countMax * FilePart.bytesMax)
    /// The bytes that a user has uploaded and not sent with which no other upload begins (100 MiB).
    public static let unsentBytesMax: UInt64 = 100 << 20

    private var open: [OwnerState] { states.filter { !isClosed($0) } }

    /// The state that readers see.
    ///
    /// It is one of those that are open, one that was sent before one that was not, then the
    /// smaller upload. Where none is open, it is the smallest upload.
    var shown: OwnerState {
        guard let shown = states.min(by: { rank($0) < rank($1) }) else {
            preconditionFailure("a file has an owner")
        }
        return shown
    }

    private func rank(_ state: OwnerState) -> (Int, Int, Upload) {
        (isClosed(state) ? 1 : 0, state.sendings.isEmpty ? 1 : 0, state.upload)
    }

    /// The upload of a user that nothing has closed: of several the one that readers would see.
    func open(of user: UserID) -> OwnerState? {
        open.filter { $0.owner == user }.min { rank($0) < rank($1) }
    }

    /// The parts of the content with this tag that can be read; without a tag, of what is shown.
    public func parts(tagged tag: String?) -> [PartID]? {
        guard let tag else { return isClosed ? nil : shown.upload.content?.parts }
        return open.compactMap(\.upload.content).first { $0.tag == tag }?.parts
    }

    /// Whether somebody may still read a part, or goes on with an upload that may name it.
    public func needs(_ part: PartID) -> Bool { open.contains { $0.needs(part) } }

    /// The messages that name it and are not known to be deleted.
    public var namingMessages: [MessageID] { Set(states.flatMap(\.living)).sorted() }

    /// When it was begun, as it is shown.
    public var begun: HybridTimestamp { shown.upload.begun.time }

    /// Whether it was begun before a time, by anybody or by one user, and not sent.
    public func isUnsent(before deadline: HybridTimestamp, by owner: UserID? = nil) -> Bool {
        unsent.contains {
            $0.upload.begun.time < deadline && (owner == nil || $0.owner == owner)
        }
    }

    /// The users who have uploaded it and not sent it, ascending.
    public var unsentOwners: [UserID] { Set(unsent.map(\.owner)).sorted() }

    var greatestTime: HybridTimestamp {
        states.reduce(closedAt ?? .zero) { max($0, $1.greatestTime) }
    }
}

// MARK: Changes

extension File {
    mutating func begin(_ upload: Upload) {
        states = File.merged(states, [OwnerState(upload)])
    }

    mutating func end(of owner: UserID, with content: Upload.Content) {
        guard let upload = open(of: owner)?.upload.ended(with: content) else { return }
        begin(upload)
    }

    mutating func attach(_ message: MessageID, of owner: UserID, at stamp: Stamp) {
        guard var state = open(of: owner) else { return }
        state.add(Sending(message: message, stamp: stamp))
        states = File.merged(states, [state])
    }

    /// Notes that a message is deleted for everyone.
    mutating func detach(_ message: MessageID) {
        for index in states.indices { states[index].delete(message) }
    }

    /// Closes what was begun before a time and not sent, by anybody or by one user.
    mutating func expire(before deadline: HybridTimestamp, of owner: UserID?) {
        for index in states.indices
        where states[index].sendings.isEmpty && states[index].upload.begun.time < deadline
            && (owner == nil || states[index].owner == owner)
        {
            states[index].expire()
        }
    }

    mutating func close(at time: HybridTimestamp) { closedAt = min(closedAt ?? time, time) }

    /// Notes that no part of what is closed is left anywhere.
    mutating func purge() {
        for index in states.indices where isClosed(states[index]) { states[index].purge() }
    }

    /// Returns all of the uploads; one that has ended comes in the place of its beginning.
    private static func merged(_ mine: [OwnerState], _ theirs: [OwnerState]) -> [OwnerState] {
        let all = mergedAscending(mine, theirs, by: \.key) { $0.merged(with: $1) }
        guard all.count > 1 else { return all }
        let ended = Set(all.filter { $0.upload.content != nil }.map(\.begun))
        return all.filter { $0.upload.content != nil || !ended.contains($0.begun) }
    }

    mutating func merge(_ other: File) {
        states = File.merged(states, other.states)
        closedAt = [closedAt, other.closedAt].compactMap(\.self).min()
    }
}

// MARK: Coding

/// The smallest upload is in fields of its own, with the earliest message that names it; what one
/// message and one upload leave in a document is all there.
extension File {
    private enum FieldNumber {
        static let created: UInt64 = 1
        static let owner: UInt64 = 2
        static let type: UInt64 = 3
        static let content: UInt64 = 4
        static let message: UInt64 = 5
        static let closed: UInt64 = 6
        static let purged: UInt64 = 7
        /// The sendings and marks of the first state, where the fields above do not say all.
        static let rest: UInt64 = 8
        static let otherStates: UInt64 = 9
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        let state = states[0]
        fields.set(FieldNumber.created, to: state.upload.begun)
        fields.set(FieldNumber.owner, to: state.owner)
        fields.set(FieldNumber.type, to: state.upload.type)
        fields.set(FieldNumber.content, to: state.upload.content)
        fields.set(FieldNumber.message, to: state.firstMessage)
        fields.set(FieldNumber.closed, to: closedAt)
        if state.isPurged { fields.set(FieldNumber.purged) { _ in } }
        if state.hasRest {
            fields.set(FieldNumber.rest) { state.encodeRest(into: &$0) }
        }
        fields.set(FieldNumber.otherStates, toList: Array(states.dropFirst()))
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let begun: Stamp = try fields.take(FieldNumber.created),
            let owner: UserID = try fields.take(FieldNumber.owner),
            let type: FieldText = try fields.take(FieldNumber.type)
        else { throw .invalid("the beginning of a file") }
        let content: Upload.Content? = try fields.take(FieldNumber.content)
        let upload = Upload(begun: begun, owner: owner, type: type, content: content)
        var state = OwnerState(upload)
        let message: Register<MessageID>? = try fields.take(FieldNumber.message)
        if let message { state.add(Sending(message: message.value, stamp: message.stamp)) }
        closedAt = try fields.take(FieldNumber.closed)
        if let bytes = fields.removeField(FieldNumber.purged) {
            guard bytes.isEmpty else { throw .invalid("a mark of purging") }
            state.purge()
        }
        if let bytes = fields.removeField(FieldNumber.rest) {
            let isPurged = state.isPurged
            var reader = ByteReader(bytes)
            try state.readRest(from: &reader)
            try reader.finish()
            guard state.isPurged == isPurged, state.hasRest, state.firstMessage == message else {
                throw .invalid("the sendings of a file")
            }
        }
        guard state.upload == upload else { throw .invalid("a file as a merge leaves it") }
        let others: [OwnerState] = try fields.take(
            FieldNumber.otherStates, orEmpty: [], "other uploads"
        ).ascending("other uploads", by: \.key)
        states = File.merged([state], others)
        guard states == [state] + others else { throw .invalid("other uploads") }
    }
}
