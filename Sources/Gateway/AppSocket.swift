import Crypto
import HTTP
import JSON
import LineProtocol
import Node
import Session
import Wire

/// A WebSocket over which a client sends requests and gets answers and events.
final class Socket {
    /// A request that waits for its reply.
    struct Waiting {
        /// As the client wrote it.
        let id: JSONValue
        var answer: AnswerWriter
    }

    /// The most bytes of memory that are kept for frames to come.
    static let keptBytesMax = 1 << 10

    let user: UserID
    var reader = WebSocketReader(messageBytesMax: AppLimits.bodyBytesMax)
    /// In the order of their lines, which is that of their replies; an entry is nil once its answer
    /// has left.
    private var waiting: [Waiting?] = []
    private var first = 0
    /// What was not handed to the network yet.
    var frames = ByteWriter()
    var sentAt: UInt64

    init(of access: AccessToken, now: UInt64) {
        user = access.user
        sentAt = now
    }

    var waitingCount: Int { waiting.count - first }

    var heldBytes: Int {
        reader.heldBytes + (first < waiting.count ? waiting[first]?.answer.heldBytes ?? 0 : 0)
    }

    func append(_ request: Waiting) { waiting.append(request) }

    /// Adds a data line to the answer of the first request.
    func append(_ line: LineView) {
        if first < waiting.count { waiting[first]?.answer.append(line) }
    }

    func removeFirst() -> Waiting? {
        guard first < waiting.count else { return nil }
        // Moved out: the entry would share its answer, and keep it.
        var request: Waiting?
        swap(&request, &waiting[first])
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

    /// Writes the answer to a request.
    func write(_ id: JSONValue, _ status: Int, body: [[UInt8]]) {
        var head = JSONWriter(reserving: 64)
        head.begin("{")
        head.pair("id", id)
        head.pair("status", status)
        head.name("body")
        // Written in parts: a copy of the body into a whole would cost as much as all else.
        frames.write(webSocketText: [head.bytes] + body + [[UInt8(ascii: "}")]])
    }

    func write(_ writer: JSONWriter) {
        frames.write(webSocketText: [writer.bytes])
    }
}

// MARK: The handshake

extension AppConnection {
    /// What a client and a server of WebSocket both know (RFC 6455, section 1.3).
    private static let handshakeID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    /// The protocol that a client offers beside its token.
    private static let protocolName = "grapevine.v1"

    /// Makes the connection a WebSocket.
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
        let since: String?
        do throws(LineError) {
            since = try sinceToken(head)
        } catch {
            return respond(AppResponse(error), isHead: false)
        }
        var response = ResponseHead(.switchingProtocols, body: .upgrade)
        response.add("Upgrade", "websocket")
        response.add("Connection", "Upgrade")
        response.add("Sec-WebSocket-Accept", AppConnection.accept(key))
        if head.fields.elements(of: "sec-websocket-protocol").contains(AppConnection.protocolName) {
            response.add("Sec-WebSocket-Protocol", AppConnection.protocolName)
        }
        var writer = ByteWriter()
        writer.write(response, date: HTTPDate.text(of: clock.wallMilliseconds))
        send(writer.bytes)
        let socket = Socket(of: access, now: clock.milliseconds)
        phase = .socket(socket)
        isSessionFull = false
        session = host.openSession(of: access.user, replyingTo: SessionReplies(of: self))
        // A client that does not wait for the answer has sent frames already.
        if !backlog.isEmpty { askForTurn() }
        guard let since else { return }
        // Its reply is an answer without an id.
        socket.append(Socket.Waiting(id: .null, answer: AnswerWriter(.taken, newID: nil)))
        feed(Array("SINCE \(since)\n".utf8))
    }

    private func refuse(_ head: RequestHead, _ error: HTTPError) {
        var response = AppResponse(error)
        response.closes = !head.keepsAlive
        response.needsUpgrade = error.status == .upgradeRequired
        respond(response, isHead: false)
    }

    /// Returns the session token in the header or the query.
    private func sinceToken(_ head: RequestHead) throws(LineError) -> String? {
        let query = head.target.query
        guard query.count <= 1, query.allSatisfy({ $0.name == "since" }) else {
            throw LineError(400, "Unknown key; the keys of this request are: since")
        }
        if let parameter = query.first {
            return try AppRequest.checked(sessionToken: parameter.value)
        }
        return try AppRequest.sessionToken(head)
    }

    private static func accept(_ key: String) -> String {
        let text = Base64.encode(Digest.sha1((key + handshakeID).utf8))
        let standard = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        // Twenty bytes are 27 characters and one of padding.
        return String(standard) + "="
    }
}

// MARK: Requests

extension AppConnection {
    /// Handles the frames that have arrived, until the session takes no more.
    func readFrames() {
        guard case .socket(let socket) = phase else { return }
        var bytes: [UInt8] = []
        swap(&bytes, &backlog)
        var lines: [UInt8] = []
        var rest = 0
        let error: WebSocketError? = bytes.withUnsafeBytes { bytes in
            var slice = bytes[...]
            defer { rest = slice.count }
            do throws(WebSocketError) {
                // What is answered here does not pass through the session, which would wait.
                while !isSessionFull, socket.waitingCount < AppLimits.waitingRequestsMax,
                    output.queuedBytes + socket.frames.count < AppConnection.queuedBytesMax,
                    let event = try socket.reader.next(&slice)
                {
                    if case .close(let code) = event {
                        onClose(code, of: socket)
                        slice = slice.dropFirst(slice.count)
                        break
                    }
                    handle(event, of: socket, &lines)
                }
                return nil
            } catch {
                return error
            }
        }
        if !lines.isEmpty { feed(lines) }
        guard case .socket = phase else { return }
        if let error { return closeSocket(error.code, error.message) }
        backlog = rest == bytes.count ? bytes : Array(bytes[(bytes.count - rest)...])
        sendFrames(of: socket)
    }

    private func handle(_ event: WebSocketReader.Event, of socket: Socket, _ lines: inout [UInt8]) {
        switch event {
        case .text(let text): request(text, of: socket, &lines)
        case .ping(let payload): socket.frames.write(webSocketPong: payload)
        case .binary:
            socket.write(
                .null, 400, body: [LineError(400, "A request is a text, not binary").json])
        case .pong, .close: break
        }
    }

    /// Appends the line of a request, or answers it with the reason why there is none.
    private func request(_ text: [UInt8], of socket: Socket, _ lines: inout [UInt8]) {
        var id = JSONValue.null
        do throws(LineError) {
            let message = try AppConnection.message(text)
            if let value = message["id"] { id = try AppConnection.checked(id: value) }
            let (route, parameters) = try AppConnection.route(of: message)
            let translated = try route.translate(
                parameters, by: socket.user, makeID: host.makeID)
            lines += translated.line
            lines.append(UInt8(ascii: "\n"))
            socket.append(
                Socket.Waiting(
                    id: id,
                    answer: AnswerWriter(route.resource, newID: translated.newID)))
        } catch {
            socket.write(id, error.code, body: [error.json])
        }
    }

    private static func message(_ text: [UInt8]) throws(LineError) -> JSONValue {
        do throws(JSONError) {
            let message = try JSONValue(reading: text)
            if case .object = message { return message }
        } catch {
            throw LineError(400, error.message)
        }
        throw LineError(400, "A request is an object of JSON with id, method, path and body")
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

    private static func route(
        of message: JSONValue
    ) throws(LineError) -> (Route, [JSONValue.Member]) {
        guard case .object(let members) = message,
            members.allSatisfy({ ["id", "method", "path", "body"].contains($0.name) })
        else { throw LineError(400, "The keys of a request are id, method, path and body") }
        var method = Method.get
        if case .text(let name)? = message["method"] {
            method = Method(rawValue: name)
        }
        guard case .text(let path)? = message["path"] else { throw LineError(400, "Missing path") }
        let target: RequestTarget
        let route: Route
        do throws(HTTPError) {
            target = try RequestTarget(path)
            route = try Route(method, target.segments)
        } catch {
            throw LineError(error.status.rawValue, error.message)
        }
        let query = try AppRequest.members(of: target.query)
        switch message["body"] {
        case nil, .null?: return (route, query)
        case .object(let members)? where route.resource.hasBody && query.isEmpty:
            return (route, members)
        default: throw LineError(400, "A body is an object of JSON, for requests that have one")
        }
    }
}

// MARK: Replies

extension AppConnection {
    func onReply(_ line: LineView, to socket: Socket) {
        if line.isOK {
            guard var request = socket.removeFirst() else { return }
            do throws(LineError) {
                socket.write(request.id, 200, body: try request.answer.finish(line))
            } catch {
                socket.write(request.id, error.code, body: [error.json])
            }
        } else if line.isEvent {
            var writer = JSONWriter(reserving: 512)
            writer.object {
                $0.object("event") { $0.write(pairsOf: line, of: .event) }
            }
            socket.write(writer)
        } else if let error = line.error {
            guard let request = socket.removeFirst() else { return }
            socket.write(request.id, error.code, body: [error.json])
        } else {
            socket.append(line)
        }
    }

    /// Hands the frames of this moment to the network, in one piece.
    func sendFrames(of socket: Socket) {
        guard socket.frames.count > 0 else { return }
        socket.sentAt = clock.milliseconds
        send(socket.frames.bytes)
        // The memory of a long answer is not kept for short ones.
        if socket.frames.count > Socket.keptBytesMax {
            socket.frames = ByteWriter()
        } else {
            socket.frames.removeAll()
        }
    }

    /// Answers the client's close, which ends the connection.
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

    /// Sends a ping where nothing was sent for a while, and closes a WebSocket that is silent or
    /// whose access token has expired.
    func keepAlive(_ socket: Socket, now: UInt64) {
        if isSignInOver {
            return closeSocket(.tokenExpired, LineError.signInExpired.sentence)
        }
        guard now < readAt + AppLimits.silentMillisecondsMax else { return abort() }
        guard now >= socket.sentAt + AppLimits.heartbeatMilliseconds else { return }
        socket.frames.writeWebSocketPing()
        sendFrames(of: socket)
    }
}

extension WebSocketCloseCode {
    /// The access token has expired: the client has to connect with a new one.
    static let tokenExpired = WebSocketCloseCode(rawValue: 4401)
}
