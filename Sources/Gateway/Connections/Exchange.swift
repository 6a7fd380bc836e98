import Admin
import CRDT
import HTTP
import JSON
import LineProtocol
import Node
import Session
import Wire

/// An HTTP request that a session executes, with the stage of its execution.
final class Exchange {
    enum Stage {
        /// The session has to accept a session token of the client's before it gets another one or
        /// the request.
        case since
        /// The session has accepted the client's session tokens so far, and has yet to get another
        /// one or the request.
        case taken
        case answer
        /// The response body is complete, in pieces, and its session token is still missing.
        case token([[UInt8]])
    }

    let request: Request
    let resource: Resource
    let isHead: Bool
    private let newID: String?
    private let acceptsGzip: Bool
    var closes: Bool
    var stage = Stage.taken
    /// The client's session tokens that the session has yet to accept.
    private var tokens: [Token]

    /// - Parameter since: the client's session tokens.
    init(
        _ request: TranslatedRequest, of resource: Resource, head: RequestHead, since: [Token]
    ) {
        self.request = request.request
        self.resource = resource
        newID = request.newID
        isHead = head.method == .head
        closes = !head.keepsAlive
        acceptsGzip = head.fields.acceptsGzip
        tokens = since
    }

    /// Returns the session token that the session has to accept next; nil if it has accepted all.
    func takeToken() -> Token? { tokens.isEmpty ? nil : tokens.removeFirst() }

    /// Returns the JSON body of the response to a request, in pieces.
    ///
    /// - Throws: the error in the session's response, or 413 if the body would be too large.
    func pieces(of response: Response) throws(LineError) -> [[UInt8]] {
        try resource.pieces(of: response, newID: newID)
    }

    /// Returns the HTTP response (200) with this body.
    func response(_ body: [[UInt8]]) -> AppResponse {
        var response = AppResponse(.ok, body: body)
        response.mayCompress = acceptsGzip
        return response
    }

    /// The size of the response body that waits in memory for its session token, in bytes.
    var heldBytes: Int { if case .token(let body) = stage { body.byteCount } else { 0 } }
}

extension Resource {
    func pieces(of response: Response, newID: String?) throws(LineError) -> [[UInt8]] {
        try JSONAnswer.pieces(
            of: response, as: answer, newID: newID, bytesMax: AppLimits.answerBytesMax)
    }
}

extension AppConnection {
    /// Starts an API request over HTTP, which a session executes.
    func begin(_ request: AppRequest, _ route: Route, by user: UserID) throws(LineError) {
        let resource = route.resource
        let parameters = try request.members(hasBody: resource.hasBody)
        switch resource.carriers {
        case .any: break
        case .socketOr(let option) where parameters.contains { $0.name == option.name }: break
        case .socketOr(let option):
            throw LineError(
                400,
                "Missing \(option.name): the event watching of GET /v1/events tells it; over a "
                    + "WebSocket it may be left out")
        case .socket:
            throw LineError(400, "This request needs a WebSocket: GET /v1/socket opens one")
        }
        try admitGuests(in: parameters, by: user)
        try route.checkEmail(in: parameters, of: signedIn?.access)
        let emails = try route.emails(in: parameters)
        guard emails.isEmpty else {
            return try begin(request, route, by: user, with: parameters, finding: emails)
        }
        try begin(request, route, by: user, with: parameters)
    }

    /// - Parameter parameters: the members of the JSON body, or the parameters of the URL query.
    func begin(
        _ request: AppRequest, _ route: Route, by user: UserID,
        with parameters: [JSONValue.Member]
    ) throws(LineError) {
        let resource = route.resource
        let texts = try AppRequest.tokenTexts(request.head)
        if resource.verb.name == "WATCH" {
            var parameters = parameters
            // A browser that reconnects sends `Last-Event-ID`, which is newer than the `since` in
            // its URL.
            if let last = request.head.fields.values(of: "last-event-id").first {
                parameters.removeAll { $0.name == "since" }
                parameters.append(JSONValue.Member("since", .text(last)))
            }
            let translated = try route.translate(parameters, by: user, makeID: host.makeID)
            return beginEvents(translated.request, resource, of: user)
        }
        let translated = try route.translate(
            parameters, as: try request.head.operation, by: user, makeID: host.makeID)
        let since = try AppRequest.sessionTokens(texts)
        let exchange = Exchange(translated, of: resource, head: request.head, since: since)
        if isDraining { exchange.closes = true }
        phase = .answering(exchange)
        openSession(of: user, signIn: signedIn?.access.signIn)
        submit(exchange)
    }

    /// Submits a client's next session token to the session or, after the last one, the client's
    /// request and a request for the session token.
    private func submit(_ exchange: Exchange) {
        if let token = exchange.takeToken() {
            exchange.stage = .since
            return submit(.since(token))
        }
        exchange.stage = .answer
        let (request, traits) = (exchange.request, exchange.resource.traits)
        session?.assumeIsolated { $0.submit(request, traits, withToken: true) }
    }

    /// Submits a request to the connection's session.
    ///
    /// - Parameter traits: the traits of the request's verb; nil for a request that the connection
    ///   itself makes.
    func submit(_ request: Request, _ traits: Verb.Traits? = nil) {
        session?.assumeIsolated { $0.submit(request, traits) }
    }

    /// Does the work, such as a submission to the session, that was deferred to this loop
    /// iteration.
    func finishExchange() {
        switch phase {
        case .answering(let exchange):
            if case .taken = exchange.stage {
                submit(exchange)
            } else if isSessionFull {
                session?.assumeIsolated { $0.onDrained() }
            }
        case .reading where upload != nil: feedUpload()
        case .storing(let upload): finish(upload)
        case .downloading(let download): fetch(download)
        case .closing: endSession()
        case .reading, .responding, .awaiting, .events, .socket: break
        }
    }

    // MARK: Responses

    /// Passes a session's response to the HTTP request, stream, upload or download that needs it.
    func onResponse(_ response: Response) {
        switch phase {
        case .answering(let exchange): onResponse(response, to: exchange)
        case .events(let stream): onResponse(response, to: stream)
        case .socket(let socket): onResponse(response, to: socket)
        case .storing(let upload): onResponse(response, to: upload)
        case .downloading(let download): onResponse(response, to: download)
        case .reading:
            if let upload { onResponse(response, to: upload) }
        case .responding, .awaiting, .closing: break
        }
        switch phase {
        case .socket(let socket):
            sendFrames(of: socket)
            // The client's next requests may have waited for these responses.
            if !backlog.isEmpty { askForTurn() }
        case .reading where upload != nil, .storing, .downloading: askForTurn()
        // An HTTP request uses its responses at once, so the session may accept requests again.
        case .answering where isSessionFull: askForTurn()
        default: break
        }
        noteHeld()
    }

    private func onResponse(_ response: Response, to exchange: Exchange) {
        do throws(LineError) {
            switch exchange.stage {
            case .since:
                if let error = response.error { throw error }
                exchange.stage = .taken
                askForTurn()
            case .taken: break
            case .answer: exchange.stage = .token(try exchange.pieces(of: response))
            case .token(let body):
                if let error = response.error { throw error }
                exchange.stage = .taken
                var answer = exchange.response(body)
                answer.token = response.tokenText
                finish(exchange, answer)
            }
        } catch {
            finish(exchange, AppResponse(error))
        }
    }

    private func finish(_ exchange: Exchange, _ response: AppResponse) {
        var response = response
        response.closes = exchange.closes
        respond(response, isHead: exchange.isHead)
    }

    /// The number of unsent bytes of an event stream or WebSocket; nil for HTTP requests, whose
    /// responses are buffered whole and counted separately.
    var bytesOfStream: Int? {
        switch phase {
        case .events, .socket: output.queuedBytes
        case .reading, .answering, .responding, .awaiting, .storing, .downloading, .closing: nil
        }
    }

    /// Records whether the connection's session has too much work to accept further requests.
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
