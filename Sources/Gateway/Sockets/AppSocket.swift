import Admin
import CRDT
import Crypto
import HTTP
import JSON
import LineProtocol
import Node
import Session
import Wire

/// A WebSocket over which a client sends API requests and gets responses and events.
final class Socket {
    /// A WebSocket request that the session has not answered yet.
    struct Waiting {
        /// The ID of the WebSocket request, as the client wrote it.
        let id: JSONValue
        let resource: Resource
        /// The ID of the object that the request creates, if the session's response lacks this ID;
        /// nil otherwise.
        let newID: String?
    }

    /// The maximum size at which a buffer of sent frames is kept for later frames, in bytes; a
    /// larger buffer is freed.
    static let keptBytesMax = 1 << 10
    /// The maximum number of messages and control frames of one WebSocket that are handled in one
    /// event-loop iteration.
    ///
    /// One read may contain 10,000 pings; handling all of them at once would delay other
    /// connections.
    static let framesPerTurnMax = 64

    let user: UserID
    var reader = WebSocketReader(messageBytesMax: AppLimits.bodyBytesMax)
    /// The requests that the session has yet to answer, in the order of their submission.
    ///
    /// The elements before the index `first` are nil, because their requests have been answered.
    private var waiting: [Waiting?] = []
    private var first = 0
    /// The encoded WebSocket frames that are not written to the connection yet.
    var frames = ByteWriter()
    var sentAt: UInt64
    var viewings = SocketViewings()
    /// Whether a request to create a conversation waits until its participants are looked up by
    /// their e-mail addresses.
    ///
    /// The client's later requests wait, too, because they may be about the new conversation.
    var isFinding = false

    init(of access: AccessToken, now: UInt64) {
        user = access.user
        sentAt = now
    }

    var waitingCount: Int { waiting.count - first }

    var heldBytes: Int { reader.heldBytes }

    func append(_ request: Waiting) { waiting.append(request) }

    func removeFirst() -> Waiting? {
        guard first < waiting.count else { return nil }
        let request = waiting[first]
        waiting[first] = nil
        first += 1
        if first == waiting.count {
            waiting.removeAll(keepingCapacity: waiting.count <= 16)
            first = 0
        } else if first >= AppLimits.waitingRequestsMax {
            waiting.removeFirst(first)
            first = 0
        }
        return request
    }

    /// Writes the error response to a WebSocket request.
    func write(_ id: JSONValue, _ error: LineError) {
        write(id, error.codeInAPI, waiting: error.secondsToWait, body: [error.json])
    }

    /// Writes the response to a WebSocket request.
    ///
    /// - Parameter seconds: the value of `retryAfter` in the response, in seconds; nil for none.
    func write(
        _ id: JSONValue, _ status: Int, waiting seconds: Int? = nil, body: [[UInt8]]
    ) {
        var head: [UInt8] = []
        head.reserveCapacity(64)
        head += #"{"id":"#.utf8
        if case .integer(let number) = id {
            head += String(number).utf8
        } else {
            var writer = JSONWriter()
            writer.write(id)
            head += writer.bytes
        }
        head += #","status":"#.utf8
        head += String(status).utf8
        if let seconds { head += #","retryAfter":\#(seconds)"#.utf8 }
        head += #","body":"#.utf8
        // The body is written in pieces, because joining them first would double the cost.
        frames.beginWebSocketText(count: head.count + body.byteCount + 1)
        frames.write(raw: head)
        for part in body { frames.write(raw: part) }
        frames.write(UInt8(ascii: "}"))
    }

    /// Writes an event as a WebSocket message, `{"event":…}`.
    func write(_ event: ToldEvent) {
        var end: [UInt8] = []
        end.reserveCapacity(64)
        event.appendEnd(to: &end)
        end.append(UInt8(ascii: "}"))
        let head = #"{"event":"#.utf8
        let bytes = event.rendered.bytes
        frames.beginWebSocketText(count: head.count + bytes.count + end.count)
        frames.write(raw: head)
        frames.write(raw: bytes)
        frames.write(raw: end)
    }
}

// MARK: The handshake

extension AppConnection {
    /// The fixed GUID that a server appends to `Sec-WebSocket-Key` before it computes the SHA-1
    /// digest for `Sec-WebSocket-Accept` (RFC 6455, section 1.3).
    private static let handshakeID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    /// The name of a WebSocket subprotocol that a client may offer beside `bearer.<token>`, the
    /// subprotocol whose name contains its access token.
    private static let protocolName = "grapevine.v1"

    /// Answers the WebSocket handshake and turns the connection into a WebSocket.
    func beginSocket(_ head: RequestHead, _ access: AccessToken) {
        let key: String?
        do throws(HTTPError) {
            key = try head.webSocketKey()
        } catch {
            return refuse(head, error)
        }
        guard let key else {
            return refuse(head, HTTPError(.upgradeRequired, "This path is a WebSocket"))
        }
        let since: [String]
        do throws(LineError) {
            since = try sinceTokens(head)
        } catch {
            return respond(AppResponse(error), isHead: false)
        }
        var response = ResponseHead(.switchingProtocols, body: .upgrade)
        response.add("Upgrade", "websocket")
        response.add("Connection", "Upgrade")
        response.add("Sec-WebSocket-Accept", AppConnection.accept(key))
        if let name = protocolName(among: head) { response.add("Sec-WebSocket-Protocol", name) }
        var writer = ByteWriter()
        writer.write(response, date: host.httpDate)
        send(writer.bytes)
        let socket = Socket(of: access, now: clock.milliseconds)
        phase = .socket(socket)
        openSession(of: access.user, signIn: access.signIn)
        // The client may have sent frames before it got this response.
        if !backlog.isEmpty { askForTurn() }
        for token in since { takeToken(token, of: socket) }
    }

    /// Lets the session wait until every replica that answers it contains the writes that the
    /// handshake's session token names.
    ///
    /// The client gets the outcome, success or an error, as a WebSocket message whose `id` is null.
    private func takeToken(_ text: String, of socket: Socket) {
        do throws(LineError) {
            let token = try AppRequest.sessionToken(text)
            socket.append(Socket.Waiting(id: .null, resource: .taken, newID: nil))
            submit(.since(token), Resource.taken.traits)
        } catch {
            socket.write(.null, error)
            sendFrames(of: socket)
        }
    }

    /// Returns the WebSocket subprotocol that the response has to name, one of those that the
    /// client offered, because a browser closes the connection if the response names none of its
    /// offers.
    private func protocolName(among head: RequestHead) -> String? {
        let names = head.fields.values(of: "sec-websocket-protocol").flatMap {
            $0.split(whereSeparator: { $0 == "," || $0 == " " }).map(String.init)
        }
        return names.first { $0.lowercased() == AppConnection.protocolName }
            ?? names.first { $0.hasPrefix("bearer.") }
    }

    private func refuse(_ head: RequestHead, _ error: HTTPError) {
        var response = AppResponse(error)
        response.closes = !head.keepsAlive
        response.needsUpgrade = error.status == .upgradeRequired
        respond(response, isHead: false)
    }

    /// Returns the session token in the query of the handshake's URL or, if the URL has no query,
    /// those in the header field `Grapevine-Token`.
    private func sinceTokens(_ head: RequestHead) throws(LineError) -> [String] {
        let query = head.target.query
        guard query.count <= 1, query.allSatisfy({ $0.name == "since" }) else {
            throw LineError(400, "Unknown key; the keys of this request are: since")
        }
        if let parameter = query.first {
            return [try AppRequest.checked(tokenText: parameter.value)]
        }
        return try AppRequest.tokenTexts(head)
    }

    private static func accept(_ key: String) -> String {
        let text = Base64.encode(Digest.sha1((key + handshakeID).utf8))
        let standard = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        // In base64, the 20 bytes are 27 characters and one of padding.
        return String(standard) + "="
    }
}

// MARK: Requests

extension AppConnection {
    /// Handles the received WebSocket frames.
    ///
    /// The rest of the frames stays in `backlog` while the session accepts no more requests, while
    /// a look-up of users is under way, and if a limit is reached: on frames in one event-loop
    /// iteration, on requests without a response, or on unsent bytes.
    func readFrames() {
        guard case .socket(let socket) = phase else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &backlog)
        var rest = 0
        var framesLeft = Socket.framesPerTurnMax
        let error: WebSocketError? = bytes.withUnsafeBytes { bytes in
            var slice = bytes[...]
            defer { rest = slice.count }
            do throws(WebSocketError) {
                // The limits apply also to responses that the session does not create, such as
                // errors.
                while framesLeft > 0, !isSessionFull, !socket.isFinding,
                    socket.waitingCount < AppLimits.waitingRequestsMax,
                    output.queuedBytes + socket.frames.count < AppConnection.queuedBytesMax,
                    let event = try socket.reader.next(&slice)
                {
                    framesLeft -= 1
                    if case .close(let code) = event {
                        onClose(code, of: socket)
                        slice = slice.dropFirst(slice.count)
                        break
                    }
                    handle(event, of: socket)
                }
                return nil
            } catch {
                return error
            }
        }
        guard case .socket = phase else { return }
        if let error { return closeSocket(error.code, error.message) }
        bytes.removeFirst(bytes.count - rest)
        backlog = bytes
        sendFrames(of: socket)
        if framesLeft == 0, !backlog.isEmpty { askForTurn() }
    }

    private func handle(_ event: WebSocketReader.Event, of socket: Socket) {
        switch event {
        case .text(let text): request(text, of: socket)
        case .ping(let payload): socket.frames.write(webSocketPong: payload)
        case .binary:
            socket.write(.null, LineError(400, "A request is a text, not binary"))
        case .pong, .close: break
        }
    }

    /// Submits the request in a WebSocket message to the session, or writes an error response if
    /// the request is invalid or exceeds a limit.
    private func request(_ text: [UInt8], of socket: Socket) {
        var id = JSONValue.null
        do throws(LineError) {
            let message = try SocketMessage(text)
            if let value = message.id { id = try AppConnection.checked(id: value) }
            guard host.admits(socket.user) else { throw .tooManyRequests }
            let (route, parameters) = try message.route()
            try route.checkEmail(in: parameters, of: signedIn?.access)
            try admitGuests(in: parameters, by: socket.user)
            let emails = try route.emails(in: parameters)
            let operation = try message.operation
            if emails.isEmpty || operation != nil {
                try submit(route, parameters, as: operation, for: id, of: socket)
            } else {
                try find(emails, for: id, route, parameters, of: socket)
            }
        } catch {
            socket.write(id, error)
        }
    }

    /// Submits a WebSocket request to the session, and stores its ID until the response arrives.
    private func submit(
        _ route: Route, _ parameters: [JSONValue.Member], as operation: String? = nil,
        for id: JSONValue, of socket: Socket
    ) throws(LineError) {
        let translated = try route.translate(
            parameters, as: operation, by: socket.user, makeID: host.makeID)
        if route.resource.verb.name == "VIEWING" {
            let shows = parameters.contains { $0.name == "conversation" }
            socket.viewings.note(
                shows ? translated.request.anew : nil, of: route.value(of: "device"),
                by: socket.user,
                now: clock.milliseconds, wallMilliseconds: clock.wallMilliseconds)
        }
        socket.append(
            Socket.Waiting(id: id, resource: route.resource, newID: translated.newID))
        submit(translated.request, route.resource.traits)
    }

    /// Looks up users by e-mail address, then submits the request to create a conversation with
    /// them.
    private func find(
        _ emails: [String], for id: JSONValue, _ route: Route, _ parameters: [JSONValue.Member],
        of socket: Socket
    ) throws(LineError) {
        guard let accounts = host.accounts else { throw .noAccounts }
        socket.isFinding = true
        let user = socket.user
        Task(executorPreference: accounts.tasks) { [self] in
            let found: Result<[UserID], LineError>
            do throws(LineError) {
                found = .success(try await accounts.find(emails, for: user))
            } catch {
                found = .failure(error)
            }
            await onFound(found, for: id, route, parameters)
        }
    }

    private func onFound(
        _ found: Result<[UserID], LineError>, for id: JSONValue, _ route: Route,
        _ parameters: [JSONValue.Member]
    ) {
        // The client may have disconnected in the meantime.
        guard case .socket(let socket) = phase, socket.isFinding else { return }
        socket.isFinding = false
        do throws(LineError) {
            let members = try parameters.adding(try found.get())
            try submit(route, members, for: id, of: socket)
        } catch {
            socket.write(id, error)
            sendFrames(of: socket)
        }
        output.flush()
        askForTurn()
    }

    private static func checked(id: JSONValue) throws(LineError) -> JSONValue {
        switch id {
        case .integer: return id
        case .text(let text) where text.utf8.count <= AppLimits.requestIDBytesMax: return id
        default:
            throw LineError(
                400,
                "An id is a whole number, or a text of at most \(AppLimits.requestIDBytesMax) bytes"
            )
        }
    }
}

// MARK: Replies

extension AppConnection {
    func onResponse(_ response: Response, to socket: Socket) {
        guard let request = socket.removeFirst() else { return }
        do throws(LineError) {
            let body = try request.resource.pieces(of: response, newID: request.newID)
            socket.write(request.id, 200, body: body)
        } catch {
            socket.write(request.id, error)
        }
    }

    /// Writes all encoded WebSocket frames to the connection, in a single write.
    func sendFrames(of socket: Socket) {
        guard socket.frames.count > 0 else { return }
        socket.sentAt = clock.milliseconds
        send(socket.frames.bytes)
        // The large buffer of a long response is not kept for short ones.
        if socket.frames.count > Socket.keptBytesMax {
            socket.frames = ByteWriter()
        } else {
            socket.frames.removeAll()
        }
    }

    /// Answers the close frame of a WebSocket client, and closes the connection.
    private func onClose(_ code: WebSocketCloseCode?, of socket: Socket) {
        socket.frames.write(webSocketClose: code ?? .normal, "")
        sendFrames(of: socket)
        close()
    }

    func closeSocket(_ code: WebSocketCloseCode, _ reason: String) {
        guard case .socket(let socket) = phase else { return }
        socket.frames.write(webSocketClose: code, reason)
        sendFrames(of: socket)
        close()
    }

    /// Keeps a WebSocket open: renews the client's reports of displayed conversations, and sends a
    /// ping if the node has sent nothing for `heartbeatMilliseconds`.
    ///
    /// The WebSocket is closed instead if the access token has expired, or if the client has sent
    /// nothing for `silentMillisecondsMax`.
    func keepAlive(_ socket: Socket, now: UInt64) {
        if isSignInOver {
            return closeSocket(.tokenExpired, LineError.signInExpired.sentence)
        }
        guard now < readAt + AppLimits.silentMillisecondsMax else { return abort() }
        let due = socket.viewings.takeDue(now: now, wallMilliseconds: clock.wallMilliseconds)
        for viewing in due { host.execute(viewing) }
        guard now >= socket.sentAt + AppLimits.heartbeatMilliseconds else { return }
        socket.frames.writeWebSocketPing()
        sendFrames(of: socket)
    }
}

extension WebSocketCloseCode {
    /// The close code for an expired access token: the client has to connect with a new one.
    static let tokenExpired = WebSocketCloseCode(rawValue: 4401)
}
