import CRDT
import Chat
import Replication
import Storage
import StorePort
import TestKit
import Wire

/// Documents as a node makes them, and the state that the disk should hold of them.
struct Chats {
    let shard: ShardID
    private(set) var documents: [DocumentKey: Document] = [:]
    private(set) var vector = Vector()
    private var seqs: [ReplicaID: UInt64] = [:]
    private var clock = HybridClock()

    init(shard: ShardID = ShardID(3)) { self.shard = shard }

    static func replica(_ number: Int) -> ReplicaID {
        ReplicaID(high: UInt64(number) &* 0x9E37_79B9_7F4A_7C15, low: UInt64(number))
    }

    static let user = UserID(checked: "ann")

    static func conversation(_ number: Int) -> ConversationID {
        ConversationID(checked: "room-\(number)")
    }

    /// From a thousand on ids as a node makes them: they ascend, seven milliseconds apart.
    static func message(_ number: Int) -> MessageID {
        guard number >= 1_000 else { return MessageID(checked: "m\(number)") }
        return MessageID.minted(
            at: HybridTimestamp(milliseconds: UInt64(number - 1_000) * 7), entropy: UInt64(number))
    }

    /// Makes a mutation at a replica, at `time` or at the clock's time.
    mutating func make(
        _ action: ChatAction, in conversation: ConversationID, by replica: Int = 1,
        at time: HybridTimestamp? = nil, from user: UserID = Chats.user, purges: Bool = false
    ) -> Record {
        let mutation = Mutation(action, in: conversation, by: user)
        let id = Chats.replica(replica)
        let dot = Dot(replica: id, seq: seqs[id, default: 0] + 1)
        seqs[id] = dot.seq
        let wall = WallTime(milliseconds: 0, latestMilliseconds: .max)
        let stamp = Stamp(
            time: time ?? clock.next(at: wall), process: dot.replica, counter: dot.seq)
        let author = Authorship(dot: dot, stamp: stamp)
        let old = documents[mutation.key]
        return put(mutation.applied(to: old, by: author), purges: purges)
    }

    mutating func send(
        _ message: Int, in conversation: Int, by replica: Int = 1, at time: UInt64? = nil,
        text: String = "hello"
    ) -> Record {
        make(
            .message(Chats.message(message), SendMessage(type: .text, item: nil, text: text)),
            in: Chats.conversation(conversation), by: replica,
            at: time.map { HybridTimestamp(milliseconds: $0) })
    }

    /// Leaves out a seq for ever, as a crash does.
    mutating func skip(_ replica: Int) { seqs[Chats.replica(replica), default: 0] += 1 }

    mutating func put(_ document: Document, purges: Bool = false) -> Record {
        let old = documents.updateValue(document, forKey: document.key)
        vector.insert(document.changedBy)
        return Record(
            key: document.key, changedBy: document.changedBy, time: document.historyTime,
            bytes: document.encoded, indexKeys: document.indexKeys,
            previous: old.map { Record.Previous(of: $0) }, purges: purges)
    }

    /// The rows that the index must hold, derived from the documents: `kind word partition/id`.
    var termRows: [String] {
        documents.values.flatMap { document in
            document.indexKeys.map {
                "\(document.key.kind.number) \($0) \(document.key.partition)/\(document.key.id)"
            }
        }.sorted()
    }

    func batch(
        _ records: [Record], header: ReplicaHeader = header(1), base: [UInt8]? = nil
    ) -> WriteBatch {
        WriteBatch(
            shards: [ShardWrite(shard: shard, header: header, base: base, records: records)])
    }

    /// Returns a header that differs from those of other numbers.
    static func header(_ number: UInt64) -> ReplicaHeader {
        ReplicaHeader(
            remaining: Vector(), digest: Hash128(high: 0, low: number), counts: [], greatest: .zero)
    }

    var digest: Hash128 {
        documents.values.reduce(into: Hash128.zero) {
            $0 += Document.digest(of: $1.key, bytes: $1.encoded)
        }
    }

    /// The dots that lead to documents, as rows of the table.
    var dots: [Dot: DocumentKey] {
        var dots: [Dot: DocumentKey] = [:]
        for document in documents.values {
            for dot in document.changedBy.dots { dots[dot] = document.key }
        }
        return dots
    }

    /// Returns the keys of the documents that a peer lacks.
    func keys(lackedBy theirs: Vector) -> Set<DocumentKey> {
        Set(documents.values.filter { !theirs.contains($0.changedBy) }.map(\.key))
    }
}

/// A generator of the same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        // SplitMix64 (G. Steele et al., 2014).
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
