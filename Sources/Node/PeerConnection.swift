import Membership
import Replication
import Wire

/// The connection to a member, once both said hello.
///
/// An object, since each turn changes it where it lies: out of a dictionary and back a value of its
/// size costs more than what is done to it.
final class PeerConnection {
    let name: NodeName
    let channel: any Channel
    /// What came in and is not a whole frame yet.
    var cutter: EnvelopeCutter
    let process: RandomID
    /// When both had said hello, in milliseconds.
    let since: UInt64
    /// Whether the member with the lesser name dialled: of two connections, that one stays.
    let isDialedByLesser: Bool
    var link: PeerSync
    /// Whether frames that came in wait for the next turn.
    var isBehind = false
    /// Whether what is for the peer stays here, as behind a cut cable.
    var isCutOut = false
    /// Whether it is being closed by this node.
    var isGivenUp = false
    /// What the peer last said twice a second, and when.
    var pulse: (said: Pulse, at: UInt64)?
    /// The shards of which a frame was dropped since the queue was last short.
    private(set) var dropped: Set<ShardID> = []
    /// What went over it, and what did not.
    var traffic = PeerTraffic()
    /// Frames that could not be read since that was last logged, and when it may be again.
    private var badFrames = 0
    private var badFramesLoggableFrom: UInt64 = 0

    private var clockToldAt: UInt64?
    /// How far the peer's clock is ahead of this one, in milliseconds, by the last two times that
    /// it told.
    ///
    /// What lay about on its way, or in front of a process that stood still, makes it seem too
    /// little and never too much: the greater one counts.
    private var clockOffsets: [Int64] = []
    /// The bases of the vectors in frames, those of this end and those of the other.
    private var said: SaidVectors
    private var heard: SaidVectors
    /// The same of answers, which may wait while other frames go.
    private var answered: SaidVectors
    private var heardAnswered: SaidVectors
    /// Answers that wait until there is room in the queue.
    private var answers: [[UInt8]] = []
    private var answerBytes = 0
    /// What is to be sent with this turn.
    private var output: [UInt8] = []
    /// The most bytes that one frame had.
    private var largestFrame = 0

    private let limits: PeerLimits

    /// How often a node tells its clock, in milliseconds: in that time two clocks drift apart by a
    /// millisecond or two.
    static let clockMilliseconds: UInt64 = 10_000
    /// How often who asks too late by this node's clock is told what it says, in milliseconds.
    static let clockAgainMilliseconds: UInt64 = 100
    /// Set in the number of a session that stands for a peer.
    static let sessionBit: UInt64 = 1 << 63
    /// How long a connection has to have lasted, in milliseconds, for its end to be a fault of the
    /// network, and the next worth making at once.
    static let steadyMilliseconds: UInt64 = 5_000

    /// - Parameter link: begins now.
    init(
        channel: any Channel, cutter: EnvelopeCutter, process: RandomID, isDialedByLesser: Bool,
        link: PeerSync, limits: PeerLimits, restRangesMax: Int
    ) {
        said = SaidVectors(restRangesMax: restRangesMax)
        heard = said
        answered = said
        heardAnswered = said
        name = link.peer
        self.channel = channel
        self.cutter = cutter
        self.cutter.payloadBytesMax = Envelope.payloadBytesMax
        self.limits = limits
        self.process = process
        self.isDialedByLesser = isDialedByLesser
        self.link = link
        since = link.heardAt
    }

    /// Bytes came in.
    func append(_ bytes: UnsafeRawBufferPointer) {
        traffic.receivedBytes += UInt64(bytes.count)
        cutter.append(bytes)
    }

    private var queuedBytes: Int { channel.queuedBytes + output.count }

    var isShort: Bool { queuedBytes < limits.queueBytesShort }

    private var isFull: Bool { queuedBytes >= limits.queueBytesMax }

    var load: NodeLoad.PeerSync {
        NodeLoad.PeerSync(
            queuedBytes: queuedBytes, answerBytes: answerBytes, largestFrame: largestFrame)
    }

    /// - Returns: false where it was dropped, because too much waits already.
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

    /// Sends what a node says beside its shards, also to a peer that is somewhat behind.
    ///
    /// - Returns: false where it was dropped, because too much waits already.
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

    /// One more frame of the peer's could not be read.
    ///
    /// - Returns: how many those are, where it is time to say so.
    func takeBadFrames(now: UInt64) -> Int? {
        badFrames += 1
        guard now >= badFramesLoggableFrom else { return nil }
        defer { badFrames = 0 }
        badFramesLoggableFrom = now + 1_000
        return badFrames
    }

    /// What the slots of the peer's requests are of, as those of a session.
    var session: UInt64 { PeerConnection.sessionBit | channel.id }

    /// Answers the peer; what finds the queue full waits, in order.
    ///
    /// - Returns: false where too much waits already: the peer will ask another.
    @discardableResult
    func tell(_ told: PeerResponse) -> Bool {
        guard !told.seen.isEmpty else { return put(told) }
        return answered.say(in: told, sending: put)
    }

    /// Says that an answer found no room.
    ///
    /// It comes before the answers that follow: who asked would take those, and then an answer from
    /// elsewhere to the first that shows what is newer.
    ///
    /// - Returns: false where that finds no room either: the peer reads nothing.
    func refuse(_ told: PeerResponse) -> Bool {
        put(told, bytesMax: limits.answerBytesMax + limits.controlBytesMax)
    }

    private func put(_ told: PeerResponse) -> Bool { put(told, bytesMax: limits.answerBytesMax) }

    /// Answers go out in the order in which they are put here.
    private func put(_ told: PeerResponse, bytesMax: Int) -> Bool {
        guard !answers.isEmpty || isFull else {
            return write(.told(told))
        }
        var writer = ByteWriter()
        writer.writeEnvelope { PeerFrame.told(told).encode(into: &$0) }
        guard answerBytes + writer.count <= bytesMax else { return false }
        answers.append(writer.bytes)
        answerBytes += writer.count
        return true
    }

    /// Takes a frame of the peer's.
    ///
    /// - Returns: the shards of which it is not known what the frame says.
    func hear(_ frame: inout PeerFrame) -> [ShardID] {
        guard case .told = frame else { return heard.hear(in: &frame) }
        return heardAnswered.hear(in: &frame)
    }

    /// The peer does not know what this end said of a shard.
    func onUnheard(_ shard: ShardID) {
        said.forget(shard)
        answered.forget(shard)
    }

    /// Whether the peer is to be told this node's clock: at once, then now and again.
    ///
    /// - Parameter isMistaken: what it takes for this clock's time is past.
    func takesClock(now: UInt64, isMistaken: Bool = false) -> Bool {
        let pause =
            isMistaken ? PeerConnection.clockAgainMilliseconds : PeerConnection.clockMilliseconds
        if let clockToldAt, now < clockToldAt + pause { return false }
        clockToldAt = now
        return true
    }

    func noteClock(_ theirs: UInt64, now: UInt64) {
        clockOffsets = clockOffsets.suffix(1) + [Int64(truncatingIfNeeded: theirs &- now)]
    }

    /// What the peer's clock will at least say after so many milliseconds; nil before it told.
    func deadline(after milliseconds: UInt64, now: UInt64) -> UInt64? {
        clockOffsets.max().map { now &+ UInt64(bitPattern: $0) &+ milliseconds }
    }

    /// The shards to be offered anew, once the queue is short again.
    func takeDropped() -> [ShardID] {
        guard !dropped.isEmpty, isShort else { return [] }
        defer { dropped = [] }
        link.compareNow()
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

    /// Hands what is to be sent to the network.
    func flush() {
        if !answers.isEmpty { queueAnswers() }
        guard output.count > 0, !isCutOut else { return }
        traffic.sentBytes += UInt64(output.count)
        channel.send(output)
        output.removeAll(keepingCapacity: true)
    }
}
