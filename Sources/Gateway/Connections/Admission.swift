import HTTP
import JSON
import LineProtocol
import Node
import Wire

/// The decision about an HTTP request, made from its request line and its header fields alone.
enum Admission {
    case refused(AppResponse)
    /// A response that needs no session, such as a web page or the public key of Web Push.
    case answered(AppResponse)
    case resource(Route, UserID)
    /// A request about an account, with its access token; the token is nil for a sign-up, a sign-in
    /// and a renewal of tokens, which need no access token.
    case account(AccountRoute, AccessToken?)
    case blob(BlobRoute, UserID)
    /// A request for the OpenAPI description, which needs no sign-in.
    case description
    case socket(AccessToken)
}

extension AppConnection {
    /// Admits or refuses an HTTP request by its head, before its body is read.
    func admit(_ head: RequestHead) -> AppRequest {
        guard let origin = allowedOrigin(of: head) else {
            let error = LineError(403, "Pages of this origin may not use this node")
            return AppRequest(head, .refused(AppResponse(error)), origin: nil)
        }
        var result = decide(head)
        if case .refused(var response) = result {
            if head.method == .options, origin != nil { response.isPreflight = true }
            result = .refused(response)
        }
        return AppRequest(head, result, origin: origin)
    }

    private func decide(_ head: RequestHead) -> Admission {
        guard host.admits(from: source(of: head)) else {
            return .refused(AppResponse(.tooManyRequests))
        }
        if let refusal = host.pages.refusal(of: head) { return .refused(AppResponse(refusal)) }
        let path = head.target.segments
        if head.method == .options {
            var response = AppResponse(.noContent, body: [])
            response.allowed = allowed(path)
            return .refused(response)
        }
        if let page = page(for: head) { return page }
        let isDescription = path == ["v1", "openapi.json"]
        let isSocket = path == ["v1", "socket"]
        let isPush = path == ["v1", "push"]
        if isDescription || isSocket || isPush {
            guard head.method == .get || head.method == .head && !isSocket else {
                var response = AppResponse(HTTPError.noSuchMethod)
                response.allowed = allowed(path)
                return .refused(response)
            }
            if isDescription { return .description }
        }
        let ofAccount = host.accounts == nil ? nil : AccountRoute(head.method, path)
        if let ofAccount, !ofAccount.needsSignIn { return .account(ofAccount, nil) }
        do throws(LineError) {
            let access = try self.access(head, onSocket: isSocket)
            guard host.admits(access.user) else { throw .tooManyRequests }
            if let ofAccount { return .account(ofAccount, access) }
            if isPush { return pushKey() }
            if let route = BlobRoute(head.method, path) { return .blob(route, access.user) }
            return isSocket ? .socket(access) : resource(head, access.user)
        } catch {
            return .refused(AppResponse(error))
        }
    }

    /// Returns the response to a request for a web page, which needs no sign-in; nil for any other
    /// request.
    private func page(for head: RequestHead) -> Admission? {
        guard head.target.segments.first != AppConnection.firstOfAPI,
            let page = host.pages.assumeIsolated({ $0.answer(to: head) })
        else { return nil }
        guard head.method == .get || head.method == .head else {
            var response = AppResponse(HTTPError.noSuchMethod)
            response.allowed = AppConnection.methodsOfPages
            return .refused(response)
        }
        host.renewArrival(of: id)
        return .answered(AppResponse(page))
    }

    /// The number of participants in one request that make the request count once more against the
    /// user's rate limit, because the node looks up each participant.
    private static let guestsOfRequest = 4

    /// Counts a request that adds many participants to a conversation as several requests against
    /// the user's rate limit.
    ///
    /// Only requests with an access token of the cluster's own accounts are counted so, because for
    /// these requests the node looks up each participant. With tokens of an app, the app alone
    /// knows which users exist.
    ///
    /// - Throws: 429 if the user exceeds the rate limit.
    func admitGuests(in parameters: [JSONValue.Member], by user: UserID) throws(LineError) {
        guard signedIn?.access.signIn != nil,
            case .list(let guests)? = parameters.first(where: { $0.name == "participants" })?.value
        else { return }
        for _ in 0..<guests.count / AppConnection.guestsOfRequest {
            guard host.admits(user) else { throw .tooManyRequests }
        }
    }

    private static let methodsOfPages = "GET, HEAD, OPTIONS"

    /// Returns the response with the public VAPID key, which browsers need to subscribe to Web
    /// Push.
    private func pushKey() -> Admission {
        guard let key = host.pushKey else {
            return .refused(AppResponse(LineError(404, "This cluster pushes nothing")))
        }
        var writer = JSONWriter()
        writer.object { $0.pair("key", key) }
        return .answered(AppResponse(.ok, body: [writer.bytes]))
    }

    private func resource(_ head: RequestHead, _ user: UserID) -> Admission {
        do throws(HTTPError) {
            guard head.method != .head || head.target.segments != AppConnection.pathOfEvents else {
                throw .noSuchMethod
            }
            return .resource(try Route(head.method, head.target.segments), user)
        } catch {
            var response = AppResponse(error)
            let path = head.target.segments
            let isOfAccount = host.accounts != nil && !AccountRoute.methods(of: path).isEmpty
            if isOfAccount || !BlobRoute.methods(of: path).isEmpty {
                response = AppResponse(HTTPError.noSuchMethod)
                response.allowed = allowed(head.target.segments)
            } else if error.status == .methodNotAllowed {
                response.allowed = allowed(head.target.segments)
            }
            return .refused(response)
        }
    }

    /// The first part of every API path; no path of a web page begins with it.
    private static let firstOfAPI = "v1"
    private static let pathOfEvents = [firstOfAPI, "events"]

    private func allowed(_ path: [String]) -> String {
        guard !host.pages.assumeIsolated({ $0.has(path) }) else {
            return AppConnection.methodsOfPages
        }
        let methods =
            path == ["v1", "openapi.json"] || path == ["v1", "socket"] || path == ["v1", "push"]
            ? [.get]
            : Route.methods(of: path)
                + (host.accounts == nil ? [] : AccountRoute.methods(of: path))
                + BlobRoute.methods(of: path)
        // `HEAD` is not allowed for the event stream, because the stream never ends.
        let hasHead = methods.contains(.get) && path != AppConnection.pathOfEvents
        let more: [Method] = (hasHead ? [.head] : []) + [.options]
        return (methods + more).map(\.rawValue).joined(separator: ", ")
    }

    /// Returns the `Origin` of an HTTP request, if web pages of this origin may use this node.
    ///
    /// The result is `.none` for an origin that is not allowed, and `.some(nil)` if the request has
    /// no `Origin` or this node's own.
    ///
    /// A request from a page whose origin is not allowed is never executed, even if the browser
    /// would hide the response from the page.
    private func allowedOrigin(of head: RequestHead) -> String?? {
        let origins = head.fields.values(of: "origin")
        guard let origin = origins.first else { return .some(nil) }
        guard origins.count == 1 else { return nil }
        let isOfNodes = host.pages.assumeIsolated { $0.admits(origin) }
        if isOfNodes || host.origins.contains(origin) { return origin }
        let own = head.fields.values(of: "host").first ?? ""
        return origin == "https://\(own)" || origin == "http://\(own)" ? .some(nil) : nil
    }

    /// Returns the verified access token of an HTTP request.
    ///
    /// - Throws: 401 for an invalid token; 503 if the key that signed the token may still arrive at
    ///   this node.
    private func access(_ head: RequestHead, onSocket: Bool) throws(LineError) -> AccessToken {
        let token = try accessToken(head, onSocket: onSocket)
        let now = Int64(clamping: clock.wallMilliseconds)
        if let signedIn, signedIn.token == token, now < signedIn.access.expiresAt {
            return signedIn.access
        }
        signedIn = nil
        let access = try access(token, now: now)
        signedIn = (token, access)
        host.onSignIn(id, as: access.user, from: source(of: head))
        return access
    }

    private func access(_ token: String, now: Int64) throws(LineError) -> AccessToken {
        guard let keys = host.keys else {
            throw host.accounts == nil ? .tokenRefused : .keyComing
        }
        do throws(LineError) {
            return try AccessToken(token, signedBy: keys, now: now)
        } catch {
            guard error == .tokenRefused, let accounts = host.accounts,
                let name = AccessToken.keyName(of: token),
                accounts.assumeIsolated({ $0.isKeyComing(name) })
            else { throw error }
            throw .keyComing
        }
    }

    /// Returns the access token that an HTTP request contains.
    ///
    /// A web page cannot set `Authorization` on a WebSocket handshake, so a handshake may contain
    /// the token in `Sec-WebSocket-Protocol` instead, as `bearer.<token>`.
    private func accessToken(_ head: RequestHead, onSocket: Bool) throws(LineError) -> String {
        let values = head.fields.values(of: "authorization")
        if let value = values.first {
            guard values.count == 1, let token = bearer(in: value) else { throw .tokenMissing }
            return token
        }
        guard onSocket else { throw .tokenMissing }
        // `Fields.elements` is not used, because it converts values to lower case.
        for value in head.fields.values(of: "sec-websocket-protocol") {
            for word in value.split(whereSeparator: { $0 == "," || $0 == " " })
            where word.hasPrefix("bearer.") {
                return String(word.dropFirst("bearer.".count))
            }
        }
        throw .tokenMissing
    }
}

/// Returns the token in an `Authorization` field, which is the only word after `Bearer`; nil for a
/// field of any other form.
private func bearer(in value: String) -> String? {
    var value = value
    // The field is parsed as bytes, because splitting a string into characters takes 1 µs per 100.
    return value.withUTF8 { bytes in
        let space = UInt8(ascii: " ")
        guard let end = bytes.firstIndex(of: space),
            String(decoding: bytes[..<end], as: UTF8.self).lowercased() == "bearer",
            let start = bytes[end...].firstIndex(where: { $0 != space })
        else { return nil }
        let token = UnsafeBufferPointer(rebasing: bytes[start...])
        return token.contains(space) ? nil : String(decoding: token, as: UTF8.self)
    }
}

extension LineError {
    static let noPlace = LineError(
        503, "Too many connections; try again, or ask another node", retryAfter: 1)
    static let tooManyRequests = LineError(
        429, "Too many requests; send the next ones more slowly", retryAfter: 1)
}
