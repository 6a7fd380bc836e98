import LineClient
import LineProtocol
import NetworkIO

/// One client connection: it sends requests, and repeats unanswered ones on whatever node it finds.
final class ChaosClient {
    private let home: Int
    /// Whether it uses `ack=local`, so that it continues at full speed while an owner is silent.
    private let isHasty: Bool
    private let load: ChaosLoad
    private var random: SeededRandom
    private var node: Int
    private var connection: LineConnection?
    private var dials = 0
    /// The requests in flight, in the order in which they are answered.
    private var inFlight: [ChaosRequest] = []
    /// The requests to repeat as soon as there is a connection.
    private var waiting: [ChaosRequest] = []
    private var isClosed = false

    init(home: Int, isHasty: Bool, random: SeededRandom, _ load: ChaosLoad) {
        self.home = home
        self.isHasty = isHasty
        node = home
        self.random = random
        self.load = load
    }

    var unansweredCount: Int { inFlight.count + waiting.count }

    func close() {
        isClosed = true
        connection?.close()
    }

    // MARK: The connection

    /// Dials its own node and any open node by turns.
    func dial() {
        guard !isClosed else { return }
        let open = load.open.sorted()
        node =
            dials.isMultiple(of: 2) && load.open.contains(home)
            ? home : open[random.below(open.count)]
        dials += 1
        LineConnection.dial(load.addresses[node], on: load.loop, timeoutMilliseconds: 1_000) {
            [self] result in
            switch result {
            case .success(let connection): setConnection(connection)
            case .failure: redial()
            }
        }
    }

    private func redial() {
        _ = Timer(on: load.loop, afterMilliseconds: ChaosLoad.redialMilliseconds) { [self] in
            dial()
        }
    }

    private func setConnection(_ connection: LineConnection) {
        dials = 0
        self.connection = connection
        connection.onClose = { [self] failure in onClose(failure) }
        if isHasty { connection.send("SET ack=local") { _ in } }
        repeatWaiting()
    }

    private func repeatWaiting() {
        let requests = waiting
        waiting = []
        for request in requests {
            if request.attempts > 0 { load.onRepeat() }
            send(request)
        }
    }

    private func onClose(_ failure: LineFailure) {
        connection = nil
        if case .silent = failure, !load.excused.contains(node) {
            load.report("n\(node + 1) \(failure)")
        }
        if failure == .notAReply { load.report("n\(node + 1) \(failure)") }
        redial()
    }

    // MARK: Requests

    func issue() {
        guard load.isIssuing, connection != nil, unansweredCount < ChaosLoad.inFlightMax
        else { return }
        let request = load.expectations.draw(&random)
        load.expectations.onBegin(request)
        send(request)
    }

    private func send(_ request: ChaosRequest) {
        guard let connection else { return waiting.append(request) }
        var request = request
        let line = request.line(in: load.expectations)
        let node = node
        request.attempts += 1
        let isSent = connection.send(line) { [self] answer in onAnswer(answer, from: node) }
        guard isSent else {
            request.attempts -= 1
            return waiting.append(request)
        }
        load.expectations.onAttempt(request, at: node)
        inFlight.append(request)
    }

    private func onAnswer(_ answer: LineConnection.Answer, from node: Int) {
        let request = inFlight.removeFirst()
        guard case .success(let reply) = answer else { return waiting.append(request) }
        guard !load.onReply(reply, to: request, by: node) else { return }
        waiting.append(request)
        _ = Timer(on: load.loop, afterMilliseconds: 100) { [self] in
            if connection != nil { repeatWaiting() }
        }
    }
}
