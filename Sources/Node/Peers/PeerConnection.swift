import Membership
import Replication
import Wire

/// The connection to a member, after both sides have sent their hello.
///
/// The type is a class, because each turn changes a connection in place: moving a value of this
/// size out of a dictionary and back costs more than the change.
final class PeerConnection {
    let name: NodeName
    let channel: any Channel
    /// The received bytes that do not make up a whole frame yet.
    var cutter: EnvelopeCutter
    let process: RandomID
    /// The version of the wire format that both nodes use.
    let wire: UInt8
    /// When both sides had sent their hello, in milliseconds.
    let since: UInt64
    /// Whether the member with the lesser name dialled: of two connections this one is kept.
    let isDialedByLesser: Bool
    var sync: PeerSync
    /// Whether frames that have arrived wait to be handled in the next turn.
    var isBehind = false
    /// Whether nothing is sent to the peer, because a network cut is simulated.
    var isCutOut = false
    /// Whether this node is closing the connection.
    var isGivenUp = false
    /// The peer's last pulse, and when it arrived.
    var pulse: (said: Pulse, at: UInt64)?
    /// The shards of which a frame was dropped since the queue was last short.
    private(set) var dropped: Set<ShardID> = []
    /// The bytes that were sent and received, and the frames that were dropped.
    var traffic = PeerTraffic()
    /// The number of unreadable frames since the last log line about them.
    private var badFrames = 0
    private var badFramesLoggableFrom: UInt64 = 0

    private var clockToldAt: UInt64?
    /// The lead of the peer's clock over this node's by its last two reports, in milliseconds.
    ///
    /// Delays of frames or processes make the measured lead too small and never too large, so the
    /// greater of the two values is used.
    private var clockOffsets: [Int64] = []
    /// The base vectors for frames: those sent by this side, and those sent by the peer.
    private var said: SaidVectors
    private var heard: SaidVectors
    /// The base vectors for responses, which may wait while other frames are sent.
    private var answered: SaidVectors
    private var heardAnswered: SaidVectors
    /// The encoded responses that wait until the queue has capacity.
    private var answers: [[UInt8]] = []
    private var answerBytes = 0
    /// The bytes to send at the end of the turn.
    private var output: [UInt8] = []
    /// The size of the largest frame sent, in bytes.
    private var largestFrame = 0

    private let limits: PeerLimits

    /// The interval at which a node reports its clock, in milliseconds; in that time two clocks
    /// drift apart by a millisecond or two.
    static let clockMilliseconds: UInt64 = 10_000
    /// The minimum interval between clock reports to a peer whose deadlines are already past on
    /// arrival, in milliseconds.
    static let clockAgainMilliseconds: UInt64 = 100
    /// The duration after which the end of a connection counts as a network fault, in milliseconds:
    /// the next connection is then dialled at once.
    static let steadyMilliseconds: UInt64 = 5_000

    /// - Parameter sync: the state of the comparison with the peer, which starts now.
    init(
        channel: any Channel, cutter: EnvelopeCutter, process: RandomID, wire: UInt8,
        isDialedByLesser: Bool, sync: PeerSync, limits: PeerLimits, restRangesMax: Int
    ) {
        said = SaidVectors(restRangesMax: restRangesMax)
        heard = said
        answered = said
        heardAnswered = said
        name = sync.peer
        self.channel = channel
        self.cutter = cutter
        self.cutter.payloadBytesMax = Envelope.payloadBytesMax
        self.limits = limits
        self.process = process
        self.wire = wire
        self.isDialedByLesser = isDialedByLesser
        self.sync = sync
        since = sync.heardAt
    }

    /// Adds bytes that have arrived.
    func append(_ bytes: UnsafeRawBufferPointer) {
        traffic.receivedBytes += UInt64(bytes.count)
        cutter.append(bytes)
    }

    private var queuedBytes: Int { channel.queuedBytes + output.count }

    /// Whether so few bytes are queued for the peer that pulls are served.
    var isShort: Bool { queuedBytes < limits.queueBytesShort }

    var isFull: Bool { queuedBytes >= limits.queueBytesMax }

    var load: NodeLoad.PeerSync {
        NodeLoad.PeerSync(
            queuedBytes: queuedBytes, answerBytes: answerBytes, largestFrame: largestFrame)
    }

    /// - Returns: false if the frame was dropped, because too many bytes are queued already.
    @discardableResult
    func send(_ frame: Frame) -> Bool {
        guard !isFull || isPlantedUnbounded else {
            if let shard = frame.shard { dropped.insert(shard) }
            traffic.droppedFrames += 1
            return false
        }
        send(.replication(frame))
        return true
    }

    private var isPlantedUnbounded: Bool {
        #if PlantedBugs
            return PlantedBug.unboundedPeerQueue.isOn
        #else
            return false
        #endif
    }

    /// Sends a frame that is not about a shard's replication; its queue limit is higher by
    /// `controlBytesMax`.
    ///
    /// - Returns: false if the frame was dropped, because too many bytes are queued already.
    @discardableResult
    func send(_ frame: PeerFrame) -> Bool {
        said.say(in: frame, sending: write)
    }

    private func write(_ frame: PeerFrame) -> Bool {
        guard queuedBytes < limits.queueBytesMax + limits.controlBytesMax || isPlantedUnbounded
        else {
            traffic.droppedFrames += 1
            return false
        }
        var writer = ByteWriter()
        writer.writeEnvelope { frame.encode(into: &$0) }
        guard writer.count <= Envelope.headBytes + Envelope.payloadBytesMax else {
            traffic.droppedFrames += 1
            return false
        }
        writer.withUnsafeBytes { output.append(contentsOf: $0) }
        largestFrame = max(largestFrame, writer.count)
        return true
    }

    /// Counts an unreadable frame from the peer.
    ///
    /// - Returns: the number of such frames since the last log line; nil if it is too early to log.
    func takeBadFrames(now: UInt64) -> Int? {
        badFrames += 1
        guard now >= badFramesLoggableFrom else { return nil }
        defer { badFrames = 0 }
        badFramesLoggableFrom = now + 1_000
        return badFrames
    }

    /// The session number for the reply slots of the peer's requests.
    var session: UInt64 { SessionBit.peer | channel.id }

    /// Sends a response; if the queue is full, the response waits after the earlier ones.
    ///
    /// - Returns: false if too many bytes wait already: the peer will request another member.
    @discardableResult
    func sendResponse(_ response: PeerResponse) -> Bool {
        guard !response.seen.isEmpty else { return put(response) }
        return answered.say(in: response, sending: put)
    }

    /// Sends the refusal of a request whose response was dropped, because too many bytes wait.
    ///
    /// The refusal is sent before the responses that follow. Otherwise the peer would handle those,
    /// and then a response of another member to the dropped request, which shows a newer state.
    ///
    /// - Returns: false if the refusal has no capacity either, because the peer reads nothing.
    func refuse(_ response: PeerResponse) -> Bool {
        put(response, bytesMax: limits.answerBytesMax + limits.controlBytesMax)
    }

    private func put(_ response: PeerResponse) -> Bool {
        put(response, bytesMax: limits.answerBytesMax)
    }

    /// Queues a response; responses are sent in the order of these calls.
    private func put(_ response: PeerResponse, bytesMax: Int) -> Bool {
        guard !answers.isEmpty || isFull else {
            return write(.response(response))
        }
        var writer = ByteWriter()
        writer.writeEnvelope { PeerFrame.response(response).encode(into: &$0) }
        guard answerBytes + writer.count <= bytesMax else { return false }
        answers.append(writer.bytes)
        answerBytes += writer.count
        return true
    }

    /// Completes the vectors of a frame from the peer, using the base vectors sent before.
    ///
    /// - Returns: the shards whose vectors build on a base vector that this side lacks.
    func hear(_ frame: inout PeerFrame) -> [ShardID] {
        guard case .response = frame else { return heard.hear(in: &frame) }
        return heardAnswered.hear(in: &frame)
    }

    /// Forgets the base vectors of a shard, because the peer lacks them.
    func onUnheard(_ shard: ShardID) {
        said.removeShard(shard)
        answered.removeShard(shard)
    }

    /// Reports this node's clock to the peer, unless the last report is recent.
    ///
    /// - Parameter isMistaken: whether a deadline that the peer set by this node's clock was past
    ///   on arrival; the report is then repeated sooner.
    func tellClock(now: UInt64, isMistaken: Bool = false) {
        let pause =
            isMistaken ? PeerConnection.clockAgainMilliseconds : PeerConnection.clockMilliseconds
        if let clockToldAt, now < clockToldAt + pause { return }
        if send(.clock(now)) { clockToldAt = now }
    }

    /// Records a report of the peer's clock.
    ///
    /// - Returns: whether this is the first report, or shows that deadlines by earlier reports were
    ///   too early by a tick or more, because this machine was suspended or the reports were late.
    @discardableResult
    func noteClock(_ theirs: UInt64, now: UInt64) -> Bool {
        let before = clockOffsets.max()
        clockOffsets = clockOffsets.suffix(1) + [Int64(truncatingIfNeeded: theirs &- now)]
        guard let before, let offset = clockOffsets.max() else { return true }
        return offset > before && UInt64(bitPattern: offset &- before) >= Node.tickMilliseconds
    }

    /// Returns a lower bound of the peer's clock after `milliseconds`; nil before its first report.
    func deadline(after milliseconds: UInt64, now: UInt64) -> UInt64? {
        clockOffsets.max().map { now &+ UInt64(bitPattern: $0) &+ milliseconds }
    }

    /// Returns the shards to offer again, once the queue is short.
    func takeDropped() -> [ShardID] {
        guard !dropped.isEmpty, isShort else { return [] }
        defer { dropped = [] }
        sync.compareNow()
        return dropped.sorted()
    }

    private func queueAnswers() {
        var taken = 0
        while taken < answers.count, !isFull {
            output += answers[taken]
            largestFrame = max(largestFrame, answers[taken].count)
            answerBytes -= answers[taken].count
            taken += 1
        }
        answers.removeFirst(taken)
    }

    /// Passes the turn's output to the network.
    func flush() {
        if !answers.isEmpty { queueAnswers() }
        guard output.count > 0, !isCutOut else { return }
        traffic.sentBytes += UInt64(output.count)
        channel.send(output)
        output.removeAll(keepingCapacity: true)
    }
}
