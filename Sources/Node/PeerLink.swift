import Replication
import Wire

/// The connection to a member, once both said hello.
struct PeerLink: Sendable {
    let channel: any Channel
    let process: RandomID
    /// When both had said hello, in milliseconds.
    let since: UInt64
    /// Whether the member with the lesser name dialled: of two connections, that one stays.
    let isDialedByLesser: Bool
    var link: Link
    private(set) var rttMilliseconds: UInt64?
    /// The shards of which a frame was dropped since the queue was last short.
    private(set) var dropped: Set<ShardID> = []

    private var hasDroppedTable = false

    private var output = ByteWriter()
    private var pingedAt: UInt64?

    /// The most bytes that wait for a slow peer.
    ///
    /// What comes then is dropped, and the pull repairs it.
    static let queueBytesMax = 8 << 20
    /// How many bytes of signs of life and tables of members may wait behind those.
    static let controlBytesMax = 1 << 20
    /// Below this the queue counts as short: pulls are served, dropped shards are offered.
    static let queueBytesShort = 512 << 10
    /// How long a connection has to have lasted, in milliseconds, for its end to be a fault of the
    /// network, and the next worth making at once.
    static let steadyMilliseconds: UInt64 = 5_000
    /// How often a peer is asked for a sign, in milliseconds.
    static let pingMilliseconds: UInt64 = 2_000

    /// - Parameter link: begins now.
    init(channel: any Channel, process: RandomID, isDialedByLesser: Bool, link: Link) {
        self.channel = channel
        self.process = process
        self.isDialedByLesser = isDialedByLesser
        self.link = link
        since = link.heardAt
    }

    private var queuedBytes: Int { channel.queuedBytes + output.count }

    var isShort: Bool { queuedBytes < PeerLink.queueBytesShort }

    /// - Returns: false where it was dropped, because too much waits already.
    @discardableResult
    mutating func send(_ frame: Frame) -> Bool {
        guard queuedBytes < PeerLink.queueBytesMax else {
            if let shard = frame.shard { dropped.insert(shard) }
            return false
        }
        send(.replication(frame))
        return true
    }

    /// Sends what a node says beside its shards, also to a peer that is somewhat behind.
    mutating func send(_ frame: PeerFrame) {
        guard queuedBytes < PeerLink.queueBytesMax + PeerLink.controlBytesMax else {
            if case .members = frame { hasDroppedTable = true }
            return
        }
        output.writeEnvelope { frame.encode(into: &$0) }
    }

    /// The shards to be offered anew, once the queue is short again.
    mutating func takeDropped() -> [ShardID] {
        guard !dropped.isEmpty, isShort else { return [] }
        defer { dropped = [] }
        link.compareNow()
        return dropped.sorted()
    }

    /// Whether a table of members is to be sent anew, since the queue is short again.
    mutating func takesDroppedTable() -> Bool {
        guard hasDroppedTable, isShort else { return false }
        hasDroppedTable = false
        return true
    }

    /// Hands what is to be sent to the network.
    mutating func flush() {
        guard output.count > 0 else { return }
        channel.send(output.bytes)
        output.removeAll()
    }

    mutating func ping(now: UInt64) {
        if let pingedAt, now < pingedAt + PeerLink.pingMilliseconds { return }
        pingedAt = now
        send(.ping(now))
    }

    mutating func onPong(_ number: UInt64, now: UInt64) {
        guard number <= now else { return }
        rttMilliseconds = now - number
    }
}
