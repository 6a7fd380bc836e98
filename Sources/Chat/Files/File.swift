import CRDT
import Wire

/// A file of a conversation: its uploads, and the messages that name it.
///
/// The bytes of a file are in separate documents, one for each `FilePart`.
///
/// A file is *open* while its parts arrive, *whole* once the end of its upload has named them, and
/// *sent* once a message names it. A file is *closed* while all messages that name it are deleted
/// for everyone: nobody can read a closed file, and nodes neither keep nor replicate its parts.
/// During a network partition, one or several users may make several uploads under one id. Each
/// upload has an `OwnerState` of its own, so that no upload changes or closes another, and the
/// deletion of a message deletes no bytes of an upload that another message names.
public struct File: Hashable, Sendable {
    /// The states of the uploads, at least one, ascending by key; the state of a beginning is
    /// removed when the state of its end exists.
    public private(set) var states: [OwnerState]
    /// The time at which an operator closed all uploads of the file; it is never unset, and of two
    /// times the earlier wins.
    public private(set) var closedAt: HybridTimestamp?

    init(_ upload: Upload) { states = [OwnerState(upload)] }

    /// Whether all uploads of the file are closed, so that nobody can read it.
    public var isClosed: Bool { states.allSatisfy(isClosed) }

    /// Whether an upload is closed.
    ///
    /// A user's unsent upload is closed together with an upload that the same user has sent under
    /// the file's id: a client that gets no response repeats the upload, so the unsent one is a
    /// repetition.
    private func isClosed(_ state: OwnerState) -> Bool {
        guard closedAt == nil, !state.isClosed else { return true }
        return state.sendings.isEmpty
            && states.contains {
                $0.owner == state.owner && !$0.sendings.isEmpty && $0.isClosed
            }
    }

    /// Whether all uploads of the file are purged.
    public var isPurged: Bool { states.allSatisfy(\.isPurged) }

    /// Whether an upload of the file is closed, so that some parts may be unneeded.
    public var hasClosed: Bool { states.contains(where: isClosed) }

    /// Whether an upload of the file is closed and not purged yet.
    public var isDue: Bool { states.contains { isClosed($0) && !$0.isPurged } }

    /// Whether an upload of the file is open and no message names it.
    public var isUnsent: Bool { !unsent.isEmpty }

    /// The open uploads that no message names.
    var unsent: [OwnerState] { open.filter(\.sendings.isEmpty) }

    /// Returns whether `user` has an unsent upload that has not ended.
    public func isArriving(from user: UserID) -> Bool {
        unsent.contains { $0.owner == user && $0.size == nil }
    }

    /// Returns the bytes that a user has uploaded and not sent.
    ///
    /// Each upload counts with at least a minimum size, so that the number of uploads has a limit,
    /// too.
    ///
    /// - Parameter arrived: the size in bytes of the parts that have arrived, which counts for an
    ///   upload that has not ended.
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

    /// The minimum number of bytes that an unsent upload counts (256 KiB).
    private static let unsentBytesMin: UInt64 = 256 << 10
    /// The minimum number of bytes that an upload counts before it has ended (5 MiB), since it may
    /// become larger.
    private static let arrivingBytesMin: UInt64 = 5 << 20
    /// The most bytes of one file.
    public static let bytesMax = UInt64(FilePart.countMax * FilePart.bytesMax)
    /// The number of unsent bytes from which on a user may begin no further upload (100 MiB).
    public static let unsentBytesMax: UInt64 = 100 << 20

    private var open: [OwnerState] { states.filter { !isClosed($0) } }

    /// The upload that readers see.
    ///
    /// Open uploads precede closed ones, sent uploads precede unsent ones, and then the lesser
    /// upload precedes the greater.
    var shown: OwnerState {
        guard let shown = states.min(by: { rank($0) < rank($1) }) else {
            preconditionFailure("a file has an owner")
        }
        return shown
    }

    private func rank(_ state: OwnerState) -> (Int, Int, Upload) {
        (isClosed(state) ? 1 : 0, state.sendings.isEmpty ? 1 : 0, state.upload)
    }

    /// Returns the open upload of a user; of several, the one that readers would see.
    func open(of user: UserID) -> OwnerState? {
        open.filter { $0.owner == user }.min { rank($0) < rank($1) }
    }

    /// Returns the parts of the open upload whose content has `tag`; without a tag, the parts of
    /// the upload that readers see.
    ///
    /// The result is nil if no such upload can be read.
    public func parts(tagged tag: String?) -> [PartID]? {
        guard let tag else { return isClosed ? nil : shown.upload.content?.parts }
        return open.compactMap(\.upload.content).first { $0.tag == tag }?.parts
    }

    /// Returns whether an open upload contains a part or, if the upload has not ended, may still
    /// name the part.
    public func needs(_ part: PartID) -> Bool { open.contains { $0.needs(part) } }

    /// The messages that name the file and are not known to be deleted, ascending.
    public var namingMessages: [MessageID] { Set(states.flatMap(\.living)).sorted() }

    /// The time at which the upload that readers see began.
    public var begun: HybridTimestamp { shown.upload.begun.time }

    /// Returns whether the file has an open, unsent upload that began before `deadline`, by any
    /// user or by `owner`.
    public func isUnsent(before deadline: HybridTimestamp, by owner: UserID? = nil) -> Bool {
        unsent.contains {
            $0.upload.begun.time < deadline && (owner == nil || $0.owner == owner)
        }
    }

    /// The users who have an open, unsent upload of the file, ascending.
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

    /// Records that a message is deleted for everyone, in the states of all uploads that it names.
    mutating func detach(_ message: MessageID) {
        for index in states.indices { states[index].delete(message) }
    }

    /// Closes the unsent uploads that began before `deadline`, by any user or by `owner`.
    mutating func expire(before deadline: HybridTimestamp, of owner: UserID?) {
        for index in states.indices
        where states[index].sendings.isEmpty && states[index].upload.begun.time < deadline
            && (owner == nil || states[index].owner == owner)
        {
            states[index].expire()
        }
    }

    mutating func close(at time: HybridTimestamp) { closedAt = min(closedAt ?? time, time) }

    /// Records that no node stores a part of a closed upload any more.
    mutating func purge() {
        for index in states.indices where isClosed(states[index]) { states[index].purge() }
    }

    /// Returns the union of the uploads; an upload that has ended replaces its state before the
    /// end.
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

/// The stored fields of a file: the least upload has fields of its own, with the earliest message
/// that names it. For a file with one upload and one message, these fields contain everything.
extension File {
    private enum FieldNumber {
        static let created: UInt64 = 1
        static let owner: UInt64 = 2
        static let type: UInt64 = 3
        static let content: UInt64 = 4
        static let message: UInt64 = 5
        static let closed: UInt64 = 6
        static let purged: UInt64 = 7
        /// The number of the field of the first state's sendings and marks, which is written only
        /// if the fields with lower numbers are not sufficient.
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
