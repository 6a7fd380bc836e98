import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The network by `URLSession`: requests on kept connections, and one event stream.
///
/// All callbacks are on the queue of the client.
final class URLSessionTransport: Transport {
    /// The most connections to a node at once.
    private static let connectionsMax = 8
    /// Seconds of silence after which the system ends a stream, unless the client does before.
    private static let streamSilence: TimeInterval = 60

    private let nodes: [URL]
    private let streams: StreamDelegate
    private let session: URLSession

    /// - Parameters:
    ///   - nodes: the addresses of the nodes, such as `https://n1.example.org:8080`.
    ///   - queue: the queue of the client.
    init(nodes: [URL], queue: DispatchQueue) {
        self.nodes = nodes
        streams = StreamDelegate(queue: queue)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = Self.connectionsMax
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        let operations = OperationQueue()
        operations.underlyingQueue = queue
        operations.maxConcurrentOperationCount = 1
        session = URLSession(
            configuration: configuration, delegate: streams, delegateQueue: operations)
    }

    deinit {
        // The last reference may end on a queue of the session, which would wait for itself.
        DispatchQueue.global().async { [session] in session.invalidateAndCancel() }
    }

    func send(_ call: Call, to node: Int, answer: @escaping (Response?) -> Void) {
        send(call, to: node, isRepeated: false, answer: answer)
    }

    private func send(
        _ call: Call, to node: Int, isRepeated: Bool, answer: @escaping (Response?) -> Void
    ) {
        let answer = OnQueue(value: answer)
        let this = OnQueue(value: self)
        let task = session.dataTask(with: urlRequest(call, to: node)) { data, response, error in
            if let response = response as? HTTPURLResponse {
                answer.value(Response(response, data ?? Data()))
            } else if !isRepeated, (error as? URLError)?.code == .networkConnectionLost {
                // A kept connection, which the node has closed.
                this.value.send(call, to: node, isRepeated: true, answer: answer.value)
            } else {
                answer.value(nil)
            }
        }
        task.resume()
    }

    func open(_ call: Call, at node: Int, stream: Int, events: @escaping (StreamEvent) -> Void) {
        close()
        var request = urlRequest(call, to: node)
        request.timeoutInterval = Self.streamSilence
        request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
        let task = session.dataTask(with: request)
        streams.begin(task, events: events)
        #if canImport(FoundationNetworking)
            // Linux watches the socket of a connection that is new for a stream for writing as long
            // as the stream is open, which takes a processor, but not that of a kept one: whatever
            // the node answers makes one.
            let opening = OnQueue(value: task)
            let first = Call(request: .probe, patience: call.patience)
            session.dataTask(with: urlRequest(first, to: node)) { _, _, _ in
                opening.value.resume()
            }.resume()
        #else
            task.resume()
        #endif
    }

    func close() { streams.end() }

    private func urlRequest(_ call: Call, to node: Int) -> URLRequest {
        let base = nodes[node].absoluteString
        let address = (base.hasSuffix("/") ? String(base.dropLast()) : base) + call.request.path
        guard let url = URL(string: address) else {
            preconditionFailure("A path of the client is percent-encoded")
        }
        var request = URLRequest(url: url)
        request.httpMethod = call.request.method.rawValue
        request.timeoutInterval = Double(call.patience) / 1_000
        var headers: [String: String?] = [
            "Grapevine-Operation": call.operation,
            "Grapevine-Token": call.tokens.isEmpty ? nil : call.tokens.joined(separator: ", "),
        ]
        headers["Authorization"] = call.accessToken.map { "Bearer " + $0 }
        if let content = call.request.content {
            request.httpBody = content.bytes
            headers["Content-Type"] = content.type
        }
        for case (let name, let value?) in headers {
            request.setValue(value, forHTTPHeaderField: name)
        }
        return request
    }
}

extension Response {
    init(_ response: HTTPURLResponse, _ body: Data) {
        self.init(
            status: response.statusCode, body: body,
            retryAfter: response.value(forHTTPHeaderField: "Retry-After").flatMap(Double.init),
            token: response.value(forHTTPHeaderField: "Grapevine-Token"))
    }
}

/// The reader of the present event stream.
///
/// It is used on the queue of the client only.
// SAFETY: the session delivers its callbacks on the queue, and so does the core call it.
private final class StreamDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    /// The time in which events are gathered after others were told, so that a step takes in many.
    private static let gathering = DispatchTimeInterval.milliseconds(10)
    private let queue: DispatchQueue
    private var task: URLSessionDataTask?
    private var isAnswered = false
    private var reader = EventStreamReader()
    private var events: (StreamEvent) -> Void = { _ in }
    private var gathered: [EventStreamReader.Event] = []
    /// The time before which events are gathered.
    private var next = DispatchTime.now()
    private var isTelling = false

    init(queue: DispatchQueue) { self.queue = queue }

    func begin(_ task: URLSessionDataTask, events: @escaping (StreamEvent) -> Void) {
        self.task = task
        self.events = events
        isAnswered = false
        reader = EventStreamReader()
        gathered = []
        isTelling = false
    }

    func end() {
        let ended = task
        task = nil
        events = { _ in }
        ended?.cancel()
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard dataTask == task, isOpened(dataTask) else { return }
        do throws(EventStreamReader.EventTooLong) {
            gathered += try reader.read(data)
            tellSoon(of: dataTask)
        } catch {
            finish()
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        guard task == self.task, task.response == nil || isOpened(task) else { return }
        finish()
    }

    /// Tells the status of the answer, once, and ends the stream if it is an error.
    ///
    /// A delegate that takes in the answer before its first bytes would have it paused, after which
    /// the socket is written to without end on Linux.
    private func isOpened(_ task: URLSessionTask) -> Bool {
        guard !isAnswered else { return true }
        isAnswered = true
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
        let tell = events
        if status != 200 { end() }
        tell(.answered(status: status))
        return status == 200
    }

    private func tellSoon(of task: URLSessionDataTask) {
        if gathered.count >= Core.eventsMax || .now() >= next { return tell() }
        guard !isTelling else { return }
        isTelling = true
        let told = OnQueue(value: task)
        queue.asyncAfter(deadline: next) { [weak self] in
            guard let self, self.task == told.value, isTelling else { return }
            tell()
        }
    }

    /// Tells what was gathered, which may be nothing.
    private func tell() {
        let told = gathered
        gathered = []
        isTelling = false
        events(.events(told))
        next = .now() + Self.gathering
    }

    private func finish() {
        let ended = task
        if !gathered.isEmpty { tell() }
        // What was told may have had another stream opened.
        guard task == ended else { return }
        let tellEnd = events
        end()
        tellEnd(.ended)
    }
}
