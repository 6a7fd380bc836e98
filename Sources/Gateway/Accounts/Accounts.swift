import Admin
import CRDT
import Chat
import Crypto
import LineProtocol
import Node
import Session
import Wire

/// The services that `Accounts` needs from its host: randomness, password threads, keys, a log.
package protocol AccountHost: OwnRequestHost {
    func randomBytes(_ count: Int) -> [UInt8]
    /// Queues password work for a worker thread, in round robin over the clients' addresses.
    ///
    /// - Parameter onDone: called on the event loop's thread; with nil if the queue is full.
    func start(
        _ work: PasswordWork, from address: String,
        onDone: @escaping @Sendable (PasswordWork.Result?) -> Void
    )
    /// Returns the changes of keys and revocations since the last call, at first all; nil for none.
    func takeSigningNews() -> SigningNews?
    /// Whether this node creates the cluster's first signing key.
    var makesFirstKey: Bool { get }
    /// Tells open connections that the keys of access tokens, or the revocations, have changed.
    func onKeysChanged()
    /// Writes a line to the node's log; it contains no secret.
    func log(_ line: String)
}

/// A password computation, hashing or verification, that takes too long for the event loop.
package enum PasswordWork: Sendable {
    package enum Result: Sendable {
        /// The hash; nil if memory is short.
        case hashed(String?)
        /// The index of the hash that the password matches; nil if it matches none.
        case found(Int?)
    }

    case hash(String)
    /// Finds the hash that a password matches; with no hashes, it verifies a decoy, which takes as
    /// long.
    case find(String, among: [String])

    package func run() -> Result {
        switch self {
        case .hash(let password): return .hashed(Password.hash(password))
        case .find(let password, let hashes):
            let index = hashes.firstIndex { Password.verifies(password, $0) }
            if hashes.isEmpty { _ = Password.verifies(password, PasswordWork.decoy) }
            return .found(index)
        }
    }

    /// The hash of a random password that nobody knows.
    private static let decoy =
        Password.hash(String(UInt64.random(in: 0...UInt64.max), radix: 36)) ?? ""
}

/// The accounts of the cluster, as one node serves them: it signs users up, in and out, issues
/// their tokens, and knows which tokens are revoked.
///
/// The operations of accounts are asynchronous, unlike those of the chat: a sign-in is rare, and
/// waits for a worker thread and for several responses.
package actor Accounts {
    private nonisolated let executor: any SerialExecutor
    /// The executor of tasks for users' requests, on the event loop's thread.
    nonisolated let tasks: LoopTaskExecutor
    private nonisolated let host: any AccountHost
    private nonisolated let requests: OwnRequests
    private nonisolated let clock: any Clock
    /// Whether anybody may sign up; if not, only the operator adds accounts.
    nonisolated let isSignUpOpen: Bool
    private var keys = ClusterKeys()
    private var attempts = AttemptLimiter()
    private var knownAddresses = KnownAddresses()
    /// The number of password computations under way, by client address.
    private var working: [String: Int] = [:]
    private var isAddingKey = false
    private var tickWaiters: [CheckedContinuation<Void, Never>] = []
    private var lookAt: UInt64 = 0

    /// The lifetime of an access token, in seconds.
    package static let accessSeconds: Int64 = 600
    package static let passwordBytes = 8...256
    /// The maximum number of concurrent password computations for one client address, for fairness.
    private static let workOfSourceMax = 16
    /// The maximum wait of a sign-in for a cluster's first signing key, in milliseconds.
    private static let signerMilliseconds: UInt64 = 3 * ClusterKeys.settleMilliseconds

    package init(
        host: any AccountHost, isSignUpOpen: Bool, clock: any Clock, executor: any SerialExecutor
    ) {
        self.host = host
        self.isSignUpOpen = isSignUpOpen
        requests = OwnRequests(host: host, executor: executor)
        self.clock = clock
        self.executor = executor
        tasks = LoopTaskExecutor(of: executor)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// The keys of access tokens; nil before the node is in a cluster.
    package var keySet: KeySet? { keys.keySet }

    /// Whether a signing key unknown to this node may still arrive from another node.
    func isKeyComing(_ name: String) -> Bool { keys.isComing(name, now: clock.milliseconds) }

    // MARK: Keys

    /// Applies the changes of signing keys and revocations that the node has received.
    package func onSigningNews() {
        let now = clock.milliseconds
        let known = now - min(now, ClusterKeys.comingMilliseconds)
        guard let news = host.takeSigningNews(), keys.insert(news, readAt: known, now: now)
        else { return }
        host.onKeysChanged()
    }

    /// Adds a signing key if the cluster needs one; called at each tick.
    package func onTick() {
        let now = clock.milliseconds
        let waiting = tickWaiters
        tickWaiters = []
        for waiter in waiting { waiter.resume() }
        // The first wrong address is not to take longer than others.
        if lookAt == 0 { host.start(.find("", among: []), from: "") { _ in } }
        keys.noteKnown(upTo: now - min(now, ClusterKeys.comingMilliseconds))
        // The first time, everything that the node knows.
        if keys.readAt == nil { onSigningNews() }
        guard !isAddingKey, now >= lookAt else { return }
        lookAt = now + ClusterKeys.lookMilliseconds
        guard keys.needsKey(wallMilliseconds: clock.wallMilliseconds) else { return }
        // Where all nodes see that another key is needed, a few add one.
        let isMine =
            keys.keys.isEmpty ? host.makesFirstKey : (host.randomBytes(1).first ?? 0) == 0
        guard isMine else { return }
        isAddingKey = true
        Task(executorPreference: tasks) { [self] in await addKey() }
    }

    private func addKey() async {
        let name = SigningKeyID(checked: "k\(Base64.encode(host.randomBytes(9)))")
        let secret = SecretDigest(checked: Base64.encode(host.randomBytes(32)))
        do throws(LineError) {
            try await write(Mutation(.addKey(name, secret)))
            host.log("key for access tokens added key=\(name)")
        } catch {
            // Looked for again in a moment.
        }
        isAddingKey = false
    }

    // MARK: Requests

    /// Executes a query as a user, or as the cluster.
    ///
    /// - Returns: the result, and whether the results of some shards are missing.
    func find<Asked: Query>(
        _ query: Asked, of user: UserID = Mutation.cluster
    ) async throws(LineError) -> (found: Asked.Answer, isPartial: Bool) {
        let response = try await requests.ask([.read(query, of: user)]).get()
        guard case .found(let listing) = response,
            let found = listing.findings.value(as: Asked.Answer.self)
        else { preconditionFailure("a query is answered with what it asks for") }
        return (found, listing.isPartial)
    }

    /// Executes a write and waits until all live owners of the shard have stored it, so that every
    /// node refuses to repeat a one-time action.
    @discardableResult
    func write(_ mutation: Mutation) async throws(LineError) -> Response {
        try await result(of: mutation).get()
    }

    /// Executes a write and ignores its failure.
    func attempt(_ mutation: Mutation) async { _ = await result(of: mutation) }

    private func result(of mutation: Mutation) async -> Result<Response, LineError> {
        let level = Request.SetLevel(level: .all, isStrict: false)
        return await requests.ask([.set(level), .write(mutation)])
    }

    // MARK: Passwords

    func hash(_ password: String, for source: AttemptSource) async throws(LineError) -> String {
        guard case .hashed(let hash?) = try await run(.hash(password), for: source.address) else {
            throw LineError(503, "No memory is left to hash a password; try again")
        }
        return hash
    }

    /// Returns the account that the password matches; nil if it matches none.
    func account(
        among accounts: [AccountView], with password: String, from source: AttemptSource
    ) async throws(LineError) -> AccountView? {
        let work = PasswordWork.find(password, among: accounts.map(\.password))
        guard case .found(let index?) = try await run(work, for: source.address) else { return nil }
        return accounts[index]
    }

    private func run(
        _ work: PasswordWork, for address: String
    ) async throws(LineError) -> PasswordWork.Result {
        guard working[address, default: 0] < Accounts.workOfSourceMax else {
            throw .tooManyAttempts(1)
        }
        working[address, default: 0] += 1
        defer {
            working[address, default: 1] -= 1
            if working[address] == 0 { working[address] = nil }
        }
        let result = await withCheckedContinuation { continuation in
            host.start(work, from: address) { continuation.resume(returning: $0) }
        }
        guard let result else {
            throw LineError(503, "Too many sign-ins wait on this node; try again")
        }
        return result
    }

    // MARK: Limits

    /// Counts an attempt against the limits of these subjects.
    ///
    /// - Throws: 429 if a subject has to wait.
    func begin(_ subjects: [AttemptLimiter.Subject]) throws(LineError) {
        guard let seconds = attempts.begin(subjects, now: clock.milliseconds) else { return }
        throw .tooManyAttempts(seconds)
    }

    /// Runs a password check of an account, which counts as an attempt unless the password is
    /// right.
    ///
    /// A device or an address from which the user has signed in before has counters of its own, so
    /// that others' guesses do not lock the user out. A check that fails before it compares a
    /// password counts for this pair of account and source alone, which damps floods; its pause is
    /// at most `AttemptLimiter.shortPause`, so that a client that was told to try again can.
    ///
    /// - Throws: 429 if a limit is reached, or the error of `compare`.
    func guess(
        of account: String, from source: AttemptSource,
        comparing compare: () async throws(LineError) -> AccountView?
    ) async throws(LineError) -> AccountView? {
        let (ofPair, others) = subjects(of: account, from: source)
        try begin([ofPair] + others)
        do throws(LineError) {
            let found = try await compare()
            guard found != nil else { return nil }
            knownAddresses.insert(source.address, of: account)
            attempts.forgetAll(of: ofPair)
            for subject in others { attempts.forget(subject) }
            return found
        } catch {
            attempts.shortenPause(of: ofPair, now: clock.milliseconds)
            for subject in others { attempts.forget(subject) }
            throw error
        }
    }

    private func subjects(
        of account: String, from source: AttemptSource
    ) -> (ofPair: AttemptLimiter.Subject, others: [AttemptLimiter.Subject]) {
        if let signIn = source.signIn, signIn.address.text == account {
            return (.guesses(of: account, by: signIn), [.guessesByDevices(of: account)])
        }
        let address = source.address
        let isKnown = knownAddresses.contains(address, of: account)
        let ofAll: [AttemptLimiter.Subject] = isKnown ? [] : [.guesses(of: account)]
        return (.guesses(of: account, from: address), ofAll + [.guesses(from: address)])
    }

    func end(_ subject: AttemptLimiter.Subject) { attempts.forget(subject) }

    // MARK: Tokens

    func random(_ kind: String) -> String { kind + Base64.encode(host.randomBytes(16)) }

    func randomSecret() -> [UInt8] { host.randomBytes(32) }

    /// The keys from which a node may have derived the next refresh token, the newest first.
    var derivingKeys: [ClusterKeys.Key] { Array(keys.keys.suffix(2).reversed()) }

    /// Waits, for `signerMilliseconds` at most, until this node has a key to sign tokens; a new
    /// cluster has yet to create its first.
    func awaitSigner() async throws(LineError) {
        let deadline = clock.milliseconds + Accounts.signerMilliseconds
        while clock.milliseconds < deadline {
            guard keys.signer(now: clock.milliseconds) == nil else { return }
            await withCheckedContinuation { tickWaiters.append($0) }
        }
        _ = try signer()
    }

    private func signer() throws(LineError) -> ClusterKeys.Key {
        guard let key = keys.signer(now: clock.milliseconds) else {
            throw LineError(503, "This node has no key to sign a token with yet; try again")
        }
        return key
    }

    /// Issues the access token and the refresh token of a sign-in.
    func tokens(_ refresh: RefreshToken) throws(LineError) -> SignedInTokens {
        let now = Int64(clamping: clock.wallMilliseconds) / 1_000
        let signIn = DeviceSignIn(
            address: refresh.address, id: refresh.signIn, began: refresh.began)
        let key = try signer()
        let access = AccessToken.signed(
            by: key, of: refresh.user, signIn, from: now, to: now + Accounts.accessSeconds)
        return SignedInTokens(
            user: refresh.user, accessToken: access, refreshToken: refresh.text(signedBy: key))
    }

    /// Returns the sign-in, which may have ended, for which the cluster issued an access token; nil
    /// for any other text.
    func signIn(shownBy text: String?) -> DeviceSignIn? {
        guard let text, let keySet else { return nil }
        return AccessToken.signIn(shownBy: text, signedBy: keySet)
    }

    func refreshToken(_ text: String) throws(LineError) -> RefreshToken {
        let now = clock.milliseconds
        return try RefreshToken(text, signedBy: keys.keys) { keys.isComing($0, now: now) }
    }

    func isRevoked(_ token: RefreshToken) -> Bool {
        keys.revocations.stamps[token.signIn.text] != nil
    }

    /// The current wall-clock time.
    var now: HybridTimestamp { HybridTimestamp(milliseconds: clock.wallMilliseconds) }
}

extension LineError {
    static func tooManyAttempts(_ seconds: Int) -> LineError {
        LineError(429, "Too many attempts; try again in \(seconds) s", retryAfter: seconds)
    }
}
