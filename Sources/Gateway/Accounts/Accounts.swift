import Admin
import CRDT
import Chat
import Crypto
import LineProtocol
import Node
import Session
import Wire

/// The services that the account actor (`Accounts`) needs from its program: random bytes, threads
/// for password hashing, the cluster's signing keys, and a log.
package protocol AccountHost: OwnRequestHost {
    func randomBytes(_ count: Int) -> [UInt8]
    /// Queues a password computation for a worker thread; the queue serves the client addresses in
    /// round robin.
    ///
    /// - Parameter onDone: called on the event loop's thread with the result, or with nil if the
    ///   queue is full.
    func start(
        _ work: PasswordWork, from address: String,
        onDone: @escaping @Sendable (PasswordWork.Result?) -> Void
    )
    /// Returns the signing keys and token revocations that have changed since the last call (at the
    /// first call, all of them); nil if none have changed.
    func takeSigningNews() -> SigningNews?
    /// Whether this node creates the cluster's first signing key.
    var makesFirstKey: Bool { get }
    /// Notifies open connections that the signing keys or the revocations of tokens have changed.
    func onKeysChanged()
    /// Writes a line, which must contain no secret, to the node's log.
    func log(_ line: String)
}

/// A computation on a password that a worker thread executes, because it would block the event loop
/// for too long: hashing the password, or finding the hash that the password matches.
package enum PasswordWork: Sendable {
    package enum Result: Sendable {
        /// The password's hash; nil if there was too little memory to compute it.
        case hashed(String?)
        /// The index of the hash that the password matches; nil if the password matches none.
        case found(Int?)
    }

    case hash(String)
    /// Finds the hash, among several, that a password matches.
    ///
    /// If there are no hashes, the computation verifies a dummy hash, which takes as long, so that
    /// its duration does not reveal whether an account exists.
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

    /// The dummy hash, of a random password, which is verified if no account exists.
    private static let decoy =
        Password.hash(String(UInt64.random(in: 0...UInt64.max), radix: 36)) ?? ""
}

/// The account service of one node: it signs users up, in and out, issues access and refresh
/// tokens, and checks whether a token is revoked.
///
/// Operations on accounts are asynchronous, unlike chat requests, because a sign-in waits for a
/// worker thread and for the replies to several reads and writes.
package actor Accounts {
    private nonisolated let executor: any SerialExecutor
    /// The executor of the tasks that answer account requests, on the event loop's thread.
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
    /// The maximum wait of a sign-in for a new cluster's first signing key, in milliseconds.
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

    /// The keys and revocations that decide whether an access token is valid; nil until this node
    /// has received them.
    package var keySet: KeySet? { keys.keySet }

    /// Whether a signing key unknown to this node may still arrive from another node.
    func isKeyComing(_ name: String) -> Bool { keys.isComing(name, now: clock.milliseconds) }

    // MARK: Keys

    /// Applies the changes of signing keys and token revocations that this node has received.
    package func onSigningNews() {
        let now = clock.milliseconds
        let known = now - min(now, ClusterKeys.comingMilliseconds)
        guard let news = host.takeSigningNews(), keys.insert(news, readAt: known, now: now)
        else { return }
        host.onKeysChanged()
    }

    /// Adds a token-signing key if the cluster needs another; called at each tick of the node's
    /// timer.
    package func onTick() {
        let now = clock.milliseconds
        let waiting = tickWaiters
        tickWaiters = []
        for waiter in waiting { waiter.resume() }
        // The dummy hash is computed now, so that the first sign-in with an unknown e-mail address
        // takes no longer than later ones.
        if lookAt == 0 { host.start(.find("", among: []), from: "") { _ in } }
        keys.noteKnown(upTo: now - min(now, ClusterKeys.comingMilliseconds))
        // The first call applies all keys and revocations that this node has stored.
        if keys.readAt == nil { onSigningNews() }
        guard !isAddingKey, now >= lookAt else { return }
        lookAt = now + ClusterKeys.lookMilliseconds
        guard keys.needsKey(wallMilliseconds: clock.wallMilliseconds) else { return }
        // All nodes notice that another key is needed. Each node adds one with a probability of
        // 1/256 at each check, so that few nodes add one at the same time.
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
            // The next check, after `lookMilliseconds`, tries again.
        }
        isAddingKey = false
    }

    // MARK: Requests

    /// Executes a query with the rights of a user, or of the cluster itself.
    ///
    /// - Returns: the result of the query, and whether the results of some shards are missing.
    func find<Asked: Query>(
        _ query: Asked, of user: UserID = Mutation.cluster
    ) async throws(LineError) -> (found: Asked.Answer, isPartial: Bool) {
        let response = try await requests.ask([.read(query, of: user)]).get()
        guard case .found(let listing) = response,
            let found = listing.findings.value(as: Asked.Answer.self)
        else { preconditionFailure("a query is answered with what it asks for") }
        return (found, listing.isPartial)
    }

    /// Executes a write, and waits until all live owners of the shard have stored it, so that no
    /// node accepts a one-time action, such as the use of a refresh token, twice.
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

    /// Returns the account, of several, whose password hash matches a password; nil if none does.
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

    /// Counts an attempt, such as a sign-in, in several counters, such as that of the account and
    /// that of the client's address.
    ///
    /// - Throws: 429 if one of the counters permits no attempt now.
    func begin(_ subjects: [AttemptLimiter.Subject]) throws(LineError) {
        guard let seconds = attempts.begin(subjects, now: clock.milliseconds) else { return }
        throw .tooManyAttempts(seconds)
    }

    /// Runs a check of an account's password, and counts it as an attempt unless the password is
    /// right.
    ///
    /// Checks from a device or an address from which the user has signed in before are counted
    /// separately, so that other people's guesses do not lock the user out. A check that fails
    /// before it compares a password counts only for this account from this device or address. It
    /// delays the next check by at most `AttemptLimiter.shortPause`, because its error asks the
    /// client to try again.
    ///
    /// - Throws: 429 if a limit on attempts is reached, or the error that `compare` throws.
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

    /// The two newest signing keys, the newest first, because a node may have derived a client's
    /// next refresh token from either.
    var derivingKeys: [ClusterKeys.Key] { Array(keys.keys.suffix(2).reversed()) }

    /// Waits, for at most `signerMilliseconds`, until this node has a key to sign tokens, because a
    /// new cluster has none at first.
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

    /// Returns the sign-in for which the cluster issued an access token, even if the sign-in has
    /// ended; nil for any other text.
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

    /// The current wall-clock time, as a hybrid timestamp.
    var now: HybridTimestamp { HybridTimestamp(milliseconds: clock.wallMilliseconds) }
}

extension LineError {
    static func tooManyAttempts(_ seconds: Int) -> LineError {
        LineError(429, "Too many attempts; try again in \(seconds) s", retryAfter: seconds)
    }
}
