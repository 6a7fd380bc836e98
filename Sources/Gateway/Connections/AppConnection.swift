import Chat
import Compression
import HTTP
import LineProtocol
import Node
import Session
import Wire

/// The protocol logic of a client's connection to the port for apps (HTTP and WebSocket).
///
/// A `Session` object executes the requests and answers them in their order, as it does for clients
/// of the line protocol. Each HTTP request gets a new session, because a proxy sends requests of
/// many users over one connection. If the last session was for the same user and sign-in, it is
/// reset and reused instead. A WebSocket or event stream keeps one session.
package actor AppConnection: SessionInput {
    enum Phase {
        case reading
        case answering(Exchange)
        /// The rest of a long response is being sent, as fast as the client reads it.
        case responding(Remainder)
        /// An uploaded file has arrived, and its last parts are being stored.
        case storing(Upload)
        case downloading(Download)
        /// The account actor handles the request, or another thread compresses the response.
        case awaiting(AwaitedAnswer)
        case events(EventStream)
        case socket(Socket)
        case closing
    }

    /// The unsent rest of a long HTTP response.
    final class Remainder {
        /// The unsent pieces of the response body, in reverse order.
        var pieces: [[UInt8]]
        var closes: Bool

        init(_ pieces: [[UInt8]], closes: Bool) {
            (self.pieces, self.closes) = (pieces, closes)
        }
    }

    /// The number of unsent response bytes at which the connection stops answering requests.
    static let queuedBytesMax = 64 << 10

    package nonisolated let id: UInt64
    /// The client's network address, as the socket reports it.
    let peer: String
    /// The client's network address, normalised for rate limits.
    let peerAddress: String
    let host: any AppHost
    let clock: any Clock
    let output: any SessionOutput
    nonisolated let executor: any SerialExecutor
    let memory: ClientMemory?

    var phase = Phase.reading
    private var reader = RequestReader()
    /// The HTTP request whose head has arrived and whose end has not; nil for none.
    var request: AppRequest?
    /// The bytes read from the socket and not parsed yet: at most those of one read.
    var backlog: [UInt8] = []
    private(set) var session: Session?
    /// The user with whose rights the connection's session executes requests, and the sign-in that
    /// owns the devices which the session registers.
    private var sessionOwner: (user: UserID, signIn: DeviceSignIn?)?
    /// The last access token that the client sent, as text and with its verified claims.
    var signedIn: (token: String, access: AccessToken)?
    /// When the last HTTP request was answered, or the one in progress began, in milliseconds.
    var since: UInt64
    /// When the client last sent something, in milliseconds.
    var readAt: UInt64
    private var pace: TakingPace
    var written: UInt64 = 0
    /// The memory use of this connection that was last reported to `ClientMemory`, in bytes.
    var notedBytes = 0
    var isTurnAwaited = false
    /// The header values that any response to the current request gets, even an error.
    private var context = AnswerContext.unread
    /// Whether the connection's `Session` has too much work to accept further requests.
    var isSessionFull = false
    private var hasEnded = false
    /// Whether the connection closes after the response to the current request.
    var isDraining = false
    /// The upload whose bytes are arriving; nil for none.
    var upload: Upload?
    /// The error of a refused upload whose body is being read; nil for none.
    var uploadRefusal: LineError?
    /// The properties of an upload request whose file has arrived and is being stored; nil for
    /// none.
    var stored: AwaitedAnswer?

    package init(
        _ id: UInt64, host: any AppHost, clock: any Clock, output: any SessionOutput,
        executor: any SerialExecutor, memory: ClientMemory? = nil, peer: String = ""
    ) {
        self.id = id
        self.peer = peer
        peerAddress = clientAddress(peer[...])
        self.host = host
        self.clock = clock
        self.output = output
        self.executor = executor
        self.memory = memory
        since = clock.milliseconds
        readAt = since
        pace = TakingPace(now: since)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    // MARK: Events

    package func onBytes(_ bytes: UnsafeRawBufferPointer) {
        readAt = clock.milliseconds
        switch phase {
        case .closing, .events: return
        case .reading where reader.isBetweenRequests && backlog.isEmpty: since = readAt
        case .reading where upload != nil: since = readAt
        case .reading, .answering, .responding, .awaiting, .storing, .downloading, .socket: break
        }
        backlog += bytes
        readOn()
    }

    package func onTurn() {
        isTurnAwaited = false
        finishExchange()
        proceed()
    }

    package func onDrained() {
        // Only an event stream or a WebSocket is read as slowly as its session writes.
        if bytesOfStream != nil { session?.assumeIsolated { $0.onDrained() } }
        if case .downloading(let download) = phase { fetch(download) }
        if case .responding(let remainder) = phase { send(remainder) }
        readOn()
    }

    package func onEnd() {
        hasEnded = true
        switch phase {
        case .reading, .answering, .responding, .awaiting, .storing, .downloading: proceed()
        case .events, .socket: close()
        case .closing: break
        }
    }

    package func onClosed() {
        leavePlaces()
        endViewings()
        phase = .closing
        upload = nil
        backlog = []
        endSession()
        memory?.assumeIsolated { [id] in $0.removeSession(id) }
    }

    /// Closes the connection at once; called if its client reads nothing while memory is scarce.
    package func onStalled() { abort() }

    /// Closes the connection if it exceeds a time limit; called at each tick of the node's timer.
    package func onTick() {
        let now = clock.milliseconds
        if pace.isTooSlow(queued: output.queuedBytes, written: written, now: now) {
            return abort()
        }
        switch phase {
        case .reading:
            guard !isTurnAwaited else { return }
            // A client that is still reading a long response is not idle.
            if output.queuedBytes > 0 || upload?.isFull ?? false { since = now }
            if reader.isBetweenRequests, backlog.isEmpty {
                if now >= since + AppLimits.sessionMillisecondsMax { endSession() }
                if now >= since + AppLimits.idleMillisecondsMax { close() }
            } else if now >= since + AppLimits.requestMillisecondsMax
                || upload.map({ now >= $0.began + Upload.millisecondsMax }) ?? false
            {
                fail(HTTPError(.requestTimeout, "The request did not arrive in time"))
            }
        case .events(let stream):
            if isSignInOver { return close() }
            keepAlive(stream, now: now)
        case .socket(let socket): keepAlive(socket, now: now)
        case .answering, .responding, .awaiting, .storing, .downloading, .closing: break
        }
    }

    /// Whether the client's access token has expired, or is missing.
    var isSignInOver: Bool {
        guard let signedIn else { return true }
        return Int64(clamping: clock.wallMilliseconds) >= signedIn.access.expiresAt
    }

    /// If a change of signing keys or revocations has made the client's access token invalid, drops
    /// the token and closes the client's event stream or WebSocket.
    package func onKeysChanged() {
        guard let (token, access) = signedIn, !access.isValid(token, host.keys) else { return }
        signedIn = nil
        switch phase {
        case .events: close()
        case .socket: closeSocket(.tokenExpired, LineError.tokenRefused.sentence)
        case .reading, .answering, .responding, .awaiting, .storing, .downloading, .closing: break
        }
    }

    /// Processes the received bytes, or defers them if this event-loop iteration has no time left.
    private func readOn() {
        if !backlog.isEmpty, !host.hasTimeToRead { askForTurn() }
        let began = clock.microseconds
        proceed()
        host.subtract(used: clock.microseconds - began)
    }

    /// Processes the received bytes and reports the memory use to `ClientMemory`.
    ///
    /// Pauses reading from the socket if too much waits to be processed or sent, and otherwise
    /// resumes reading.
    private func proceed() {
        switch phase {
        case .reading where !isTurnAwaited && output.queuedBytes < AppConnection.queuedBytesMax:
            answerNext()
        case .socket where !isTurnAwaited: readFrames()
        case .reading, .answering, .responding, .awaiting, .storing, .downloading, .events, .socket,
            .closing:
            break
        }
        noteHeld()
        refuseIfSpent()
        updateReading()
    }

    private func updateReading() {
        switch phase {
        case .closing: break
        // The client's further bytes are ignored, but the end of its connection is noticed.
        case .events: output.setReadingPaused(false)
        // Most clients send nothing until they get the response, so reading is rarely paused.
        case .answering, .responding, .awaiting, .storing, .downloading:
            output.setReadingPaused(!backlog.isEmpty)
        case .socket:
            let isFull = output.queuedBytes >= AppConnection.queuedBytesMax
            output.setReadingPaused(isFull || isSessionFull || !backlog.isEmpty)
        case .reading:
            output.setReadingPaused(!backlog.isEmpty)
            // The end of the input may have been read while parts of an upload are being stored.
            let isStoring = upload?.isFull ?? false
            if hasEnded, backlog.isEmpty, !isTurnAwaited, !isStoring { close() }
        }
    }
}

// MARK: Requests

extension AppConnection {
    /// Answers the next HTTP request, if it has arrived.
    private func answerNext() {
        let (result, left) = backlog.reading { bytes throws(HTTPError) in
            try readRequest(&bytes)
        }
        backlog.removeFirst(backlog.count - left)
        if let refusal = uploadRefusal { return failUpload(refusal) }
        switch result {
        case .failure(let error): fail(error)
        case .success(nil): break
        case .success(let request?): answer(request)
        }
    }

    /// Returns the next HTTP request once it is complete, or once its head is refused; nil before.
    private func readRequest(
        _ bytes: inout Slice<UnsafeRawBufferPointer>
    ) throws(HTTPError) -> AppRequest? {
        while !(upload?.isFull ?? false), let event = try reader.next(&bytes) {
            switch event {
            case .head(let head):
                let arrived = admit(head)
                request = arrived
                context.origin = arrived.origin
                context.requestID = AnswerContext.requestID(in: head)
                guard head.hasBody || arrived.isUpload else { continue }
                // A body that will not be used is not read.
                if case .refused = arrived.admission { return arrived }
                if arrived.isUpload {
                    guard beginUpload(arrived) else { return nil }
                } else if case .length(let length) = head.body {
                    try AppRequest.check(length)
                }
                if head.expectsContinue { send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
            case .body(let part) where upload != nil:
                guard continueUpload(part) else { return nil }
            case .body(let part): try request?.append(part)
            case .end:
                defer { request = nil }
                return request
            }
        }
        return nil
    }

    private func answer(_ request: AppRequest) {
        let head = request.head
        let closes = !head.keepsAlive || request.isUnread
        let isHead = head.method == .head
        switch request.admission {
        case .refused(var response), .answered(var response):
            response.closes = closes
            respond(response, isHead: isHead)
        case .description:
            var response = AppResponse(
                .ok, body: [host.accounts == nil ? OpenAPI.withoutAccounts : OpenAPI.withAccounts])
            response.closes = closes
            response.mayCompress = head.fields.acceptsGzip
            respond(response, isHead: isHead)
        case .socket(let access): beginSocket(head, access)
        case .account, .resource, .blob:
            do throws(LineError) {
                try begin(request)
            } catch {
                var response = AppResponse(error)
                response.closes = closes
                respond(response, isHead: isHead)
            }
        }
    }

    private func begin(_ request: AppRequest) throws(LineError) {
        switch request.admission {
        case .account(let route, let access): try begin(request, route, by: access)
        case .resource(let route, let user): try begin(request, route, by: user)
        case .blob(let route, let user): try begin(request, route, by: user)
        case .refused, .answered, .description, .socket: break
        }
    }

    /// Sends an error response instead of reading the request further, and closes the connection.
    func fail(_ error: HTTPError) {
        var response = AppResponse(error)
        response.closes = true
        context.origin = context.origin ?? AnswerContext.unread.origin
        respond(response, isHead: false)
    }

    /// Sends a response, compressed if allowed; a later event-loop iteration reads the next
    /// request.
    func respond(_ response: consuming AppResponse, isHead: Bool) {
        leavePlaces()
        var response = response
        if response.isToBeCompressed {
            if response.body.byteCount > AppLimits.compressedAtOnceMax {
                return compress(response, isHead: isHead)
            }
            response.compress(to: GZip.compress(response.body))
        }
        send(response, isHead: isHead)
    }

    private func send(_ response: AppResponse, isHead: Bool) {
        sendHead(of: response, response.length)
        let remainder = Remainder(isHead ? [] : response.body.reversed(), closes: response.closes)
        phase = .responding(remainder)
        send(remainder)
    }

    /// Compresses a long response body on another thread, then sends the response.
    private func compress(_ response: AppResponse, isHead: Bool) {
        let awaited = AwaitedAnswer(
            isHead: isHead, closes: response.closes, heldBytes: response.body.byteCount)
        phase = .awaiting(awaited)
        let (source, body) = (signedIn?.access.user.text ?? peerAddress, response.body)
        host.compress(
            of: source, { GZip.compress(body) },
            onDone: { [self] compressed in
                assumeIsolated { $0.onCompressed(compressed, response, awaited) }
            })
    }

    private func onCompressed(
        _ compressed: [UInt8]?, _ response: AppResponse, _ awaited: AwaitedAnswer
    ) {
        // The client may have disconnected in the meantime.
        guard case .awaiting = phase else { return }
        var response = response
        response.compress(to: compressed)
        response.closes = awaited.closes || isDraining
        send(response, isHead: awaited.isHead)
        output.flush()
        if !response.closes { askForTurn() }
    }

    /// Sends the head of an HTTP response, with the header fields that all responses have.
    ///
    /// - Parameter length: the framing of the response body, which is sent afterwards.
    func sendHead(of response: AppResponse, _ length: ResponseHead.Body) {
        context.isEncrypted = host.isEncrypted
        send(response.head(length, in: context, date: host.httpDate))
        context = .unread
    }

    /// Sends as much of a response as the output queue permits, and frees each piece once it is
    /// queued.
    func send(_ remainder: Remainder) {
        while output.queuedBytes < SessionLimits.aheadBytesMax,
            let piece = remainder.pieces.popLast()
        {
            send(piece)
        }
        guard remainder.pieces.isEmpty else { return }
        since = clock.milliseconds
        if remainder.closes { return close() }
        phase = .reading
        if !backlog.isEmpty { askForTurn() }
    }

    func askForTurn() {
        guard !isTurnAwaited else { return }
        isTurnAwaited = true
        host.askForTurn(of: id)
    }

    func send(_ bytes: [UInt8]) {
        written += UInt64(bytes.count)
        output.write(bytes)
    }

    /// Opens a session for a user, or resets the connection's last session if it is idle and was
    /// opened for the same user and sign-in.
    ///
    /// - Parameter signIn: the sign-in that owns the devices which the session registers; nil for
    ///   none.
    func openSession(of user: UserID, signIn: DeviceSignIn? = nil) {
        if let session, let owner = sessionOwner, owner == (user, signIn),
            session.assumeIsolated({ $0.startAnew() })
        {
            return
        }
        endSession()
        isSessionFull = false
        session = host.openSession(
            of: user, signIn: signIn, replyingTo: SessionReplies(of: self))
        sessionOwner = (user, signIn)
    }

    /// Ends the session that answered the last request; call it only while the session is idle.
    func endSession() {
        guard let session else { return }
        self.session = nil
        host.closeSession(session)
    }
}
