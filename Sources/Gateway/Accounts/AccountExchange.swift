import CRDT
import Chat
import HTTP
import JSON
import LineProtocol
import Session
import Wire

/// The properties of an HTTP request that the node stores until it can respond: until the account
/// actor has a result, a thread has compressed the response, or an upload is stored.
struct AwaitedAnswer {
    let isHead: Bool
    let closes: Bool
    /// The size of the response that stays in memory while another thread compresses it, in bytes.
    var heldBytes = 0

    init(isHead: Bool, closes: Bool, heldBytes: Int) {
        self.isHead = isHead
        self.closes = closes
        self.heldBytes = heldBytes
    }

    init(_ request: AppRequest) {
        isHead = request.head.method == .head
        closes = !request.head.keepsAlive || request.isUnread
    }
}

extension AppConnection {
    /// Starts an HTTP request about an account, such as a sign-in; the account actor executes it.
    func begin(
        _ request: AppRequest, _ route: AccountRoute, by access: AccessToken?
    ) throws(LineError) {
        guard let accounts = host.accounts else { throw .noAccounts }
        let members = try request.members(hasBody: !route.keys.isEmpty)
        let asked = AccountRequest(
            route: route, values: try route.values(of: members), access: access,
            source: AttemptSource(address: source(of: request.head)))
        let awaited = AwaitedAnswer(request)
        let carried = CarriedToken(
            since: try AppRequest.sessionTokens(request.head), on: executor)
        phase = .awaiting(awaited)
        // The time limit for signing in restarts, because `Accounts` limits sign-ins itself.
        host.renewArrival(of: id)
        Task(executorPreference: accounts.tasks) { [self] in
            await CarriedToken.$current.withValue(route.waitsForToken ? carried : nil) {
                await answer(awaited, asked, by: accounts)
            }
        }
    }

    private func answer(
        _ awaited: AwaitedAnswer, _ asked: AccountRequest, by accounts: Accounts
    ) async {
        do throws(LineError) {
            let body = try await accounts.answer(asked)
            host.onSignIn(id, as: asked.access?.user, from: asked.source.address)
            var response = AppResponse(.ok, body: [body])
            response.token = await CarriedToken.current?.tokens.last?.text
            finish(awaited, response)
        } catch {
            finish(awaited, AppResponse(error))
        }
    }

    /// Starts a request to create a conversation, and looks up the participants that the client
    /// gives by e-mail address.
    func begin(
        _ request: AppRequest, _ route: Route, by user: UserID,
        with members: [JSONValue.Member], finding emails: [String]
    ) throws(LineError) {
        guard let accounts = host.accounts else { throw .noAccounts }
        let awaited = AwaitedAnswer(request)
        phase = .awaiting(awaited)
        Task(executorPreference: accounts.tasks) { [self] in
            do throws(LineError) {
                let others = try await accounts.find(emails, for: user)
                try await resume(request, route, by: user, with: try members.adding(others))
            } catch {
                await finish(awaited, AppResponse(error))
            }
        }
    }

    private func resume(
        _ request: AppRequest, _ route: Route, by user: UserID, with members: [JSONValue.Member]
    ) throws(LineError) {
        guard case .awaiting = phase else { return }
        try begin(request, route, by: user, with: members)
    }

    private func finish(_ awaited: AwaitedAnswer, _ response: AppResponse) {
        // The client may have disconnected in the meantime.
        guard case .awaiting = phase else { return }
        var response = response
        response.closes = awaited.closes || isDraining
        respond(response, isHead: awaited.isHead)
        output.flush()
        if response.closes == false { askForTurn() }
    }

    /// Returns the client's network address for rate limits: that of the connection or, behind a
    /// proxy, the last address in the header field `X-Forwarded-For`.
    func source(of head: RequestHead) -> String {
        guard host.isBehindProxy,
            let last = head.fields.values(of: "x-forwarded-for").last?
                .split(separator: ",").last
        else { return peerAddress }
        return clientAddress(last)
    }
}

extension Route {
    /// Returns the e-mail addresses that a request to create a conversation has under the keys
    /// `email` and `emails`; none for any other request.
    ///
    /// - Throws: 400 if `emails` is no list of strings, or has more than `AppLimits.emailsMax`.
    func emails(in parameters: [JSONValue.Member]) throws(LineError) -> [String] {
        guard resource.verb.name == "CREATE" else { return [] }
        let one = parameters.email.map { [$0] } ?? []
        guard let value = parameters.first(where: { $0.name == "emails" })?.value else {
            return one
        }
        guard case .list(let list) = value, list.count <= AppLimits.emailsMax else {
            throw .notEmails
        }
        return try one
            + list.map { element throws(LineError) in
                guard case .text(let text) = element else { throw .notEmails }
                return text
            }
    }

    /// Checks that a change of a profile sets no e-mail address but that of the user's account, so
    /// that no user can impersonate another.
    ///
    /// - Throws: 403 for any other e-mail address.
    func checkEmail(
        in parameters: [JSONValue.Member], of access: AccessToken?
    ) throws(LineError) {
        guard resource.verb.name == "PROFILE", let signIn = access?.signIn,
            let email = parameters.email, !email.isEmpty
        else { return }
        guard try EmailAddress.storedDigests(of: email).contains(signIn.address) else {
            throw LineError(403, "The e-mail address of a profile is that of the account")
        }
    }
}

extension [JSONValue.Member] {
    /// The string under the key `email` of a JSON object; nil if there is no such string.
    var email: String? {
        guard case .text(let email)? = first(where: { $0.name == "email" })?.value else {
            return nil
        }
        return email
    }

    /// Returns the members of this JSON object with the users added to its list `participants`, and
    /// without the members `email` and `emails`.
    ///
    /// - Throws: 400 if `participants` is not a list.
    func adding(_ others: [UserID]) throws(LineError) -> [JSONValue.Member] {
        let rest = filter { !["email", "emails", "participants"].contains($0.name) }
        var users: [JSONValue] = []
        if let value = first(where: { $0.name == "participants" })?.value {
            guard case .list(let list) = value else { throw .notNames("participants") }
            users = list
        }
        users += others.map { .text($0.text) }
        return rest + [JSONValue.Member("participants", .list(users))]
    }
}

extension LineError {
    static let noAccounts = LineError(404, "This cluster has no accounts of its own")
    static let notEmails = LineError(
        400, "emails has to be a list of at most \(AppLimits.emailsMax) e-mail addresses")
}
