import CRDT
import Chat
import Replication
import Wire

/// The reading of a shard's part of a user's list, in slices over several turns.
///
/// The complete list shows one state of the shard: at the end, the documents that have changed
/// since they were read are read again.
struct ListReading: Sendable {
    let query: any ListQuery
    let viewer: Viewer
    /// The keys of the documents that each give a part of the list, ascending.
    private var keys: [DocumentKey]
    /// The index of the first document that has not been read.
    private var next = 0
    private var parts: [(partition: String, part: AnyFindings)] = []
    /// How often changed documents were read again.
    private var rounds = 0

    /// The greatest number of rounds over several turns; then the rest is read in one turn, since a
    /// list of documents that change constantly would never end.
    private static let roundsMax = 3

    init(_ query: any ListQuery, for viewer: Viewer, in keys: [DocumentKey]) {
        self.query = query
        self.viewer = viewer
        self.keys = keys
    }

    var isOver: Bool { next == keys.count }

    /// The approximate size of the parts that were read, in bytes.
    private(set) var bytes = 0

    /// The share of the documents that has been read, in thousandths.
    var thousandths: Int { rounds > 0 || keys.isEmpty ? 1_000 : 1_000 * next / keys.count }

    /// Whether a slice has been read.
    var hasBegun: Bool { next > 0 || rounds > 0 }

    /// Whether the rest has to be read in one turn.
    var isLast: Bool { rounds > ListReading.roundsMax }

    mutating func takeNext() -> DocumentKey? {
        guard !isOver else { return nil }
        defer { next += 1 }
        return keys[next]
    }

    mutating func append(_ part: AnyFindings, of key: DocumentKey) {
        parts.append((key.partition, part))
        bytes += part.roughBytes
    }

    /// Discards the parts of these documents, and schedules the documents to be read again.
    mutating func readAgain(_ keys: [DocumentKey]) {
        let again = Set(keys.map(\.partition))
        parts.removeAll { again.contains($0.partition) }
        bytes = parts.reduce(0) { $0 + $1.part.roughBytes }
        (self.keys, next) = (keys, 0)
        rounds += 1
    }

    /// All parts that were read, unordered.
    var findings: AnyFindings {
        var findings = query.anyEmpty
        for (_, part) in parts { _ = findings.append(part) }
        return findings
    }

    /// The documents of a list that have changed since its reading began.
    struct Changes: Sendable {
        private let query: any ListQuery
        private let user: UserID
        private var partitions: Set<String>
        private var changed: Set<DocumentKey> = []

        init(of reading: ListReading) {
            (query, user) = (reading.query, reading.viewer.user)
            partitions = Set(reading.keys.map(\.partition))
        }

        /// Records the change of a document, if the list may depend on the document.
        mutating func note(_ document: Document) {
            let partition = document.key.partition
            guard partitions.contains(partition) || document.concerns(user) else { return }
            // A document that has joined the list after the reading began may change again after it
            // is read.
            partitions.insert(partition)
            changed.formUnion(type(of: query).keys(in: partition, of: user))
        }

        mutating func takeAll() -> [DocumentKey] {
            defer { changed = [] }
            return changed.sorted()
        }
    }
}

/// The result of reading one slice of a shard's part of a list.
enum ListSlice: Sendable {
    case unfinished(ListReading)
    case finished(AnyFindings, isSettled: Bool)
}

extension ListQuery {
    /// The list without parts.
    var anyEmpty: AnyFindings { AnyFindings(Self.empty) }
}

extension ShardSource {
    /// Returns the part of a list that one document gives.
    mutating func part(
        of query: some ListQuery, in key: DocumentKey, for viewer: Viewer
    ) throws(ShardFailure) -> AnyFindings? {
        guard let document = try document(key) else { return nil }
        return try query.part(of: document, for: viewer, in: &self).map { AnyFindings($0) }
    }

    /// Reads documents of a list until the time is over or all of them are read.
    mutating func read(
        _ reading: inout ListReading, until time: TurnTime
    ) throws(ShardFailure) {
        while let key = reading.takeNext() {
            if let part = try part(of: reading.query, in: key, for: reading.viewer) {
                reading.append(part, of: key)
            }
            if time.isOver, !reading.isLast { return }
        }
    }
}

extension ShardMachine {
    /// Begins to read the shard's part of a list.
    ///
    /// - Returns: nil if the query is answered as a whole.
    mutating func beginReading(
        _ query: AnyQuery, of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> ListReading? {
        guard replica.mayAnswer else { throw .notReady }
        guard let list = query.base.list else { return nil }
        let viewer = Viewer(user, without: query.senders, isExact: query.isExact)
        return try beginReading(list, for: viewer, in: world)
    }

    private mutating func beginReading(
        _ list: any ListQuery, for viewer: Viewer, in world: ShardWorld
    ) throws(ShardFailure) -> ListReading {
        let type = type(of: list)
        let keys = try keys(of: type.kind, carrying: type.term(of: viewer.user), in: world)
        return ListReading(list, for: viewer, in: keys)
    }

    /// Reads a list until the time is over; from then on, records changes of the list for `slot`.
    ///
    /// - Returns: whether the shard's whole part of the list is read.
    mutating func read(
        _ reading: inout ListReading, until time: TurnTime, for slot: ReplySlot,
        in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        guard replica.mayAnswer else { throw .notReady }
        // The parts that were read may be from a failed commit or from another replica.
        if reading.hasBegun, !documents.isFollowed(slot) {
            reading = try beginReading(reading.query, for: reading.viewer, in: world)
        }
        repeat {
            try self.reading(in: world) { source throws(ShardFailure) in
                // One grouping avoids a search of the documents in memory for each conversation.
                source.groupPending()
                try source.read(&reading, until: time)
            }
            guard reading.isOver else {
                documents.follow(slot, reading)
                return false
            }
            let changed = documents.takeChanges(for: slot)
            if !changed.isEmpty { reading.readAgain(changed) }
        } while !reading.isOver
        documents.unfollow(slot)
        return true
    }

    mutating func endReading(for slot: ReplySlot) { documents.unfollow(slot) }
}
