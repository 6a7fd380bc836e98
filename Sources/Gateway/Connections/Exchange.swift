import HTTP
import JSON
import LineProtocol
import Node
import Session
import Wire

/// A request over HTTP that a session answers.
final class Exchange {
    enum Stage {
        /// The session has to take the client's token before it answers.
        case since
        /// The token was taken; the line has to be handed to the session.
        case taken
        case answer
        /// The answer is there, and waits for the token that stands for it.
        case token([[UInt8]])
    }

    let line: [UInt8]
    let isHead: Bool
    private let acceptsGzip: Bool
    var closes: Bool
    var stage: Stage
    var answer: AnswerWriter

    init(
        _ request: TranslatedRequest, of resource: Resource, head: RequestHead, stage: Stage
    ) {
        line = request.line
        isHead = head.method == .head
        closes = !head.keepsAlive
        acceptsGzip = head.fields.acceptsGzip
        answer = AnswerWriter(resource, newID: request.newID)
        self.stage = stage
    }

    /// Returns the response to a request that was answered.
    func response(_ body: [[UInt8]]) -> AppResponse {
        var response = AppResponse(.ok, body: body)
        response.mayCompress = acceptsGzip
        return response
    }

    /// The bytes of the answer.
    var heldBytes: Int {
        if case .token(let body) = stage { body.byteCount } else { answer.heldBytes }
    }
}

extension AppConnection {
    /// Has a session answer a request.
    func begin(_ request: AppRequest, _ route: Route, by user: UserID) throws(LineError) {
        let resource = route.resource
        guard !resource.isForSockets else {
            throw LineError(400, "This request needs a WebSocket: GET /v1/socket opens one")
        }
        let parameters = try request.members(hasBody: resource.hasBody)
        try admitGuests(in: parameters, by: user)
        try route.checkEmail(in: parameters, of: signedIn?.access)
        let emails = try route.emails(in: parameters)
        guard emails.isEmpty else {
            return try begin(request, route, by: user, with: parameters, finding: emails)
        }
        try begin(request, route, by: user, with: parameters)
    }

    /// - Parameter parameters: the members of the body, or the parameters of the query.
    func begin(
        _ request: AppRequest, _ route: Route, by user: UserID,
        with parameters: [JSONValue.Member]
    ) throws(LineError) {
        let resource = route.resource
        let since = try AppRequest.sessionToken(request.head)
        if resource.verb.name == "WATCH" {
            var parameters = parameters
            // A browser that reconnects sends the field beside the address that it began with.
            if let last = request.head.fields.values(of: "last-event-id").first {
                parameters.removeAll { $0.name == "since" }
                parameters.append(JSONValue.Member("since", .text(last)))
            }
            let translated = try route.translate(parameters, by: user, makeID: host.makeID)
            return beginEvents(translated.line, of: user)
        }
        let translated = try route.translate(parameters, by: user, makeID: host.makeID)
        let exchange = Exchange(
            translated, of: resource, head: request.head,
            stage: since == nil ? .answer : .since)
        if isDraining { exchange.closes = true }
        phase = .answering(exchange)
        isSessionFull = false
        session = host.openSession(
            of: user, signIn: signedIn?.access.signIn, replyingTo: SessionReplies(of: self))
        if let since {
            feed(Array("SINCE \(since)\n".utf8))
        } else {
            feed(exchange)
        }
    }

    /// Hands the line of a request to the session, and asks for the token behind it.
    private func feed(_ exchange: Exchange) {
        exchange.stage = .answer
        feed(exchange.line + Array("\nTOKEN\n".utf8))
    }

    /// Hands lines to the session.
    func feed(_ lines: [UInt8]) {
        guard let session else { return }
        lines.withUnsafeBytes { bytes in
            // SAFETY: the session reads the bytes during this call, on the loop's thread, only.
            nonisolated(unsafe) let bytes = bytes
            session.assumeIsolated { $0.onBytes(bytes) }
        }
    }

    /// Does what an exchange left for the next turn.
    func finishExchange() {
        switch phase {
        case .answering(let exchange):
            if case .taken = exchange.stage {
                feed(exchange)
            } else if isSessionFull {
                session?.assumeIsolated { $0.onDrained() }
            }
        case .reading where upload != nil: feedUpload()
        case .storing(let upload): finish(upload)
        case .downloading(let download): fetch(download)
        case .reading, .responding, .awaiting, .closing: endSession()
        case .events, .socket: break
        }
    }

    // MARK: Replies

    /// Handles what the session writes.
    func onReplies(_ bytes: [UInt8]) {
        var cutter = ReplyCutter()
        swap(&cutter, &self.cutter)
        cutter.cut(bytes) { line in
            switch phase {
            case .answering(let exchange): onReply(line, to: exchange)
            case .events(let stream): onReply(line, to: stream)
            case .socket(let socket): onReply(line, to: socket)
            case .storing(let upload): onReply(line, to: upload)
            case .downloading(let download): onReply(line, to: download)
            case .reading:
                if let upload { onReply(line, to: upload) }
            case .responding, .awaiting, .closing: break
            }
        }
        self.cutter = cutter
        if case .socket(let socket) = phase {
            sendFrames(of: socket)
            // Requests may have waited for these answers.
            if !backlog.isEmpty { askForTurn() }
        }
        switch phase {
        case .reading where upload != nil, .storing, .downloading: askForTurn()
        default: break
        }
        // All that an exchange is told is taken at once, and the session waits to hear of it.
        if case .answering = phase, isSessionFull { askForTurn() }
        noteHeld()
    }

    private func onReply(_ line: LineView, to exchange: Exchange) {
        if let error = line.error { return finish(exchange, AppResponse(error)) }
        guard line.isOK else { return exchange.answer.append(line) }
        switch exchange.stage {
        case .since:
            exchange.stage = .taken
            askForTurn()
        case .taken: break
        case .answer:
            do throws(LineError) {
                exchange.stage = .token(try exchange.answer.finish(line))
            } catch {
                finish(exchange, AppResponse(error))
            }
        case .token(let body):
            exchange.stage = .taken
            var response = exchange.response(body)
            response.token = line.plainValue(of: "token")
            finish(exchange, response)
        }
    }

    private func finish(_ exchange: Exchange, _ response: AppResponse) {
        var response = response
        response.closes = exchange.closes
        respond(response, isHead: exchange.isHead)
    }

    /// What of a stream the client has not taken; an answer is held as a whole and counted apart.
    var bytesOfStream: Int {
        switch phase {
        case .events, .socket: output.queuedBytes + cutter.heldBytes
        case .reading, .answering, .responding, .awaiting, .storing, .downloading, .closing: 0
        }
    }

    /// Notes whether the session takes more lines.
    func onSessionFull(_ isFull: Bool) {
        isSessionFull = isFull
        switch phase {
        case .socket where !isFull: askForTurn()
        case .answering where isFull: askForTurn()
        case .storing where isFull, .downloading where isFull: askForTurn()
        case .reading where isFull && upload != nil: askForTurn()
        case .reading, .answering, .responding, .awaiting, .storing, .downloading, .events, .socket,
            .closing:
            break
        }
    }
}
