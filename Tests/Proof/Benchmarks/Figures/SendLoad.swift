import Glibc
import NetworkIO

/// Sends of 100 bytes on many connections, each with `inFlight` requests in flight.
///
/// As cheap as possible, since the load shares the machine with the nodes: no strings, no parsing,
/// and one clock reading per read.
final class SendLoad {
    struct Shape: Sendable {
        var way = SendWay.lines
        var connections = 50
        var inFlight = 16
        /// The level of `SET ack=`; nil keeps the node's own.
        var ackLevel: String?
        var isWithIDs = false
        var conversations = 100
        /// The number of sends in all; nil for no limit.
        var sendsMax: Int?
    }

    static let textBytes = 100

    static func conversation(_ index: Int) -> String { "c\(1_000 + index)" }

    /// Returns the id of a message that a load with ids has sent.
    static func id(ofConnection number: Int, send: Int) -> String {
        SendClient.id(of: number, send: send)
    }

    let loop: EventLoop
    let shape: Shape
    private(set) var latencies = Latencies()
    /// The first reply that was not `OK`.
    private(set) var refusal: String?
    private(set) var refusalCount = 0
    private(set) var lost: NetworkError?
    private(set) var sentCount = 0
    private(set) var answeredCount = 0
    private var clients: [SendClient] = []
    private var measuredSince: UInt64?
    private(set) var isOver = false

    init(_ shape: Shape, on loop: EventLoop) {
        self.shape = shape
        self.loop = loop
    }

    /// Connects to the addresses in turn; each connection sends as soon as it is established.
    func start(_ addresses: [SocketAddress]) {
        for number in 0..<shape.connections {
            let address = addresses[number % addresses.count]
            Connection.dial(address, on: loop, timeoutMilliseconds: 2_000) { [self] result in
                switch result {
                case .success(let connection):
                    clients.append(SendClient(number, connection, self))
                case .failure(let error): lost = error
                }
            }
        }
    }

    var connectedCount: Int { clients.count }
    var unansweredCount: Int { sentCount - answeredCount }

    /// Starts to record the times of answered sends.
    func beginMeasuring() {
        latencies = Latencies()
        measuredSince = loop.nanoseconds
    }

    /// - Returns: the number of answers per second.
    func endMeasuring() -> Double {
        guard let began = measuredSince else { return 0 }
        measuredSince = nil
        return Double(latencies.count) * 1e9 / Double(loop.nanoseconds - began)
    }

    /// Stops new sends; those in flight may still be answered.
    func stopSending() { isOver = true }

    /// Stops new sends, and closes the connections.
    func stop() {
        stopSending()
        for client in clients { client.close() }
        clients = []
    }

    /// Whether one more may be sent; it counts as sent from then on.
    func takeSend() -> Bool {
        guard !isOver, sentCount < shape.sendsMax ?? .max else { return false }
        sentCount += 1
        return true
    }

    func onReply(nanoseconds: UInt64) {
        answeredCount += 1
        if measuredSince != nil { latencies.record(nanoseconds: nanoseconds) }
    }

    func onRefusal(_ line: UnsafeRawBufferPointer) {
        refusalCount += 1
        guard refusal == nil else { return }
        refusal = String(decoding: line, as: UTF8.self)
    }

    func onClose(_ error: NetworkError?) {
        if !isOver, lost == nil { lost = error ?? .reset }
    }
}

/// The sends of one connection.
///
/// The requests are prepared as bytes, one for each conversation.
private final class SendClient: ConnectionDelegate {
    private static let idDigits = 10

    private let load: SendLoad
    private let connection: Connection
    private var requests: [[UInt8]] = []
    /// The offset of the id's digits in every request; nil if the node makes the ids.
    private var idStart: Int?
    private var sent = 0
    private var replied = 0
    /// The times at which the requests in flight were sent, as a ring.
    private var sentNanoseconds: [UInt64]
    /// The number of replies to expect that belong to no send.
    private var foreignReplies = 0
    private var replies: ReplyCounter

    init(_ number: Int, _ connection: Connection, _ load: SendLoad) {
        self.connection = connection
        self.load = load
        sentNanoseconds = .init(repeating: 0, count: load.shape.inFlight)
        replies = ReplyCounter(load.shape.way)
        let text = String(repeating: "0123456789", count: SendLoad.textBytes / 10)
        let zeros = String(repeating: "0", count: Self.idDigits)
        let id = load.shape.isWithIDs ? "\(Self.idHead(number))\(zeros)" : nil
        for index in 0..<load.shape.conversations {
            let name = SendLoad.conversation((index + number) % load.shape.conversations)
            let request = load.shape.way.request(name, id: id, text)
            // Conversations have names of one length, so the digits have one place.
            if id != nil { idStart = request.firstRange(of: zeros.utf8)?.lowerBound }
            requests.append(request)
        }
        connection.delegate = self
        if let opening = load.shape.way.opening {
            foreignReplies = 1
            connection.write(opening)
            return
        }
        if let level = load.shape.ackLevel {
            foreignReplies = 1
            connection.write(Array("SET ack=\(level)\n".utf8))
        }
        fill()
    }

    /// Sends as many requests as may be in flight.
    private func fill() {
        let now = load.loop.nanoseconds
        for _ in 0..<load.shape.inFlight { send(now) }
    }

    /// The beginning of an id; it contains the process id, so that two runs make different ids.
    private static func idHead(_ number: Int) -> String { "b\(getpid()).\(number)." }

    /// Returns the id of the n-th send on the connection of this number.
    static func id(of number: Int, send: Int) -> String {
        let digits = String(send)
        return idHead(number) + String(repeating: "0", count: idDigits - digits.count) + digits
    }

    func close() { connection.close() }

    private func send(_ now: UInt64) {
        guard load.takeSend() else { return }
        let index = sent % requests.count
        if let idStart {
            var rest = sent
            for place in (idStart..<(idStart + Self.idDigits)).reversed() {
                requests[index][place] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
        }
        connection.write(requests[index])
        sentNanoseconds[sent % sentNanoseconds.count] = now
        sent += 1
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        let now = load.loop.nanoseconds
        var counter = ReplyCounter(load.shape.way)
        swap(&counter, &replies)
        counter.read(bytes) { reply, isGood in
            if !isGood { load.onRefusal(reply) }
            onReply(now)
        }
        replies = counter
    }

    private func onReply(_ now: UInt64) {
        guard foreignReplies == 0 else {
            foreignReplies -= 1
            if load.shape.way.opening != nil { fill() }
            return
        }
        load.onReply(nanoseconds: now - sentNanoseconds[replied % sentNanoseconds.count])
        replied += 1
        send(now)
    }

    func connectionDidReachEnd(_ connection: Connection) { connection.close() }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}

    func connectionDidClose(_ connection: Connection, error: NetworkError?) { load.onClose(error) }
}
