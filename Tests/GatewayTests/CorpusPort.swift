import CRDT
import Chat
import LineProtocol
import Node
import NodeKit
import Replication
import Session
import Wire

@testable import Gateway

/// An executor whose jobs wait until a script's player runs them.
final class QueueExecutor: SerialExecutor {
    nonisolated(unsafe) private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

    func checkIsolated() {}

    func isIsolatingCurrentContext() -> Bool? { true }

    /// - Returns: whether there was any job.
    func run() -> Bool {
        let hasRun = !jobs.isEmpty
        while !jobs.isEmpty {
            jobs.removeFirst().runSynchronously(on: asUnownedSerialExecutor())
        }
        return hasRun
    }
}

/// The port for apps of a node in memory: without sockets, threads and limits of rates, and with
/// random bits that are the same in every run.
actor CorpusPort {
    private nonisolated let executor: any SerialExecutor
    private nonisolated let node: Node
    private nonisolated let clock: any Clock
    private nonisolated let tokenKeys: KeySet?
    nonisolated let pages: WebPages
    private var ownAccounts: Accounts?
    private var sessions: [UInt64: Session] = [:]
    /// Beyond those of the node's line clients.
    private var lastSession: UInt64 = 1_000_000
    private var turns: [UInt64] = []
    private var randomState: UInt64
    private var uploads = ArrivingUploads()
    private var parts = PartPlaces()
    private var connections: [UInt64: AppConnection] = [:]

    /// - Parameters:
    ///   - seed: of the random bits; another one at each node.
    ///   - keys: those of an app's tokens; nil where the cluster has accounts of its own.
    init(
        of node: Node, seed: UInt64, keys: KeySet?, clock: any Clock, executor: any SerialExecutor
    ) {
        randomState = seed
        self.executor = executor
        self.node = node
        self.clock = clock
        tokenKeys = keys
        pages = WebPages(.chat, nodes: [], executor: executor)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func start() {
        guard tokenKeys == nil else { return }
        ownAccounts = Accounts(host: self, isSignUpOpen: true, clock: clock, executor: executor)
        node.assumeIsolated { $0.expectSigningKeys() }
    }

    func add(_ connection: AppConnection) { connections[connection.id] = connection }

    func remove(_ connection: AppConnection) {
        connections[connection.id] = nil
        connection.assumeIsolated { $0.onClosed() }
    }

    func onTick() {
        ownAccounts?.assumeIsolated { $0.onTick() }
        for connection in openConnections { connection.assumeIsolated { $0.onTick() } }
    }

    /// In the order in which they were opened.
    private var openConnections: [AppConnection] {
        connections.values.sorted { $0.id < $1.id }
    }

    /// - Returns: whether any connection had asked for a turn.
    func giveTurns() -> Bool {
        ownAccounts?.assumeIsolated { $0.onSigningNews() }
        let due = turns
        turns = []
        for id in due { connections[id]?.assumeIsolated { $0.onTurn() } }
        return !due.isEmpty
    }

    private func open(_ output: any SessionOutput, _ policy: AuthPolicy) -> Session {
        lastSession += 1
        let session = Session(
            lastSession, node: node, clock: clock, output: output, executor: executor,
            ackLevel: .majority, authPolicy: policy, memory: nil)
        sessions[lastSession] = session
        node.assumeIsolated { $0.attach(session, as: session.id) }
        return session
    }

    private func close(_ session: Session) {
        sessions[session.id] = nil
        session.assumeIsolated { $0.onClosed() }
    }

    private func nextBytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in
            randomState = randomState &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: randomState >> 56)
        }
    }
}

extension CorpusPort: AppHost {
    nonisolated func openSession(
        of user: UserID, signIn: DeviceSignIn?, replyingTo output: any SessionOutput
    ) -> Session {
        assumeIsolated { $0.open(output, .user(user, signIn: signIn)) }
    }

    nonisolated func closeSession(_ session: Session) { assumeIsolated { $0.close(session) } }

    nonisolated func execute(_ request: Request) {
        let requests = OwnRequests(host: self, executor: executor)
        requests.assumeIsolated { $0.begin(request) }
    }

    nonisolated func askForTurn(of connection: UInt64) {
        assumeIsolated { $0.turns.append(connection) }
    }

    nonisolated var hasTimeToRead: Bool { true }
    nonisolated func subtract(used: UInt64) {}
    nonisolated func onSignIn(_ connection: UInt64, as user: UserID?, from address: String) {}
    nonisolated func renewArrival(of connection: UInt64) {}

    nonisolated func takePartPlace(for connection: UInt64) -> Bool {
        assumeIsolated { $0.parts.take(for: connection) }
    }

    nonisolated func giveBack(partPlaces count: Int) {
        for connection in assumeIsolated({ $0.parts.give(back: count) }) {
            askForTurn(of: connection)
        }
    }

    nonisolated func beginUpload(
        on connection: UInt64, by user: UserID, promised: UInt64?
    ) throws(LineError) {
        let isAdmitted = assumeIsolated {
            $0.uploads.begin(on: connection, by: user, promised: promised)
        }
        guard isAdmitted else { throw LineError(429, "Too much is under way", retryAfter: 1) }
    }

    nonisolated func endUpload(of connection: UInt64) {
        assumeIsolated { $0.uploads.end(connection) }
        for connection in assumeIsolated({ $0.parts.end(connection) }) {
            askForTurn(of: connection)
        }
    }

    nonisolated func admits(_ user: UserID) -> Bool { true }
    nonisolated func admits(from address: String) -> Bool { true }

    nonisolated func checkUpload(
        of bytes: Int, by user: UserID, counted isCounted: Bool
    ) throws(LineError) {}

    nonisolated func compress(
        of source: String, _ work: @escaping @Sendable () -> [UInt8]?,
        onDone: @escaping @Sendable ([UInt8]?) -> Void
    ) {
        onDone(work())
    }

    nonisolated var httpDate: String { HTTPDate.text(of: clock.wallMilliseconds) }

    nonisolated func makeID() -> String { assumeIsolated { Base64.encode($0.nextBytes(12)) } }
    nonisolated var keys: KeySet? {
        assumeIsolated { $0.tokenKeys ?? $0.ownAccounts?.assumeIsolated { $0.keySet } }
    }
    nonisolated var accounts: Accounts? { assumeIsolated { $0.ownAccounts } }
    nonisolated var pushKey: String? { nil }
    nonisolated var isBehindProxy: Bool { false }
    nonisolated var isEncrypted: Bool { false }
    nonisolated var origins: Set<String> { ["https://shop.example.org"] }
}

extension CorpusPort: AccountHost {
    nonisolated func openSession(replyingTo output: any SessionOutput) -> Session {
        assumeIsolated { $0.open(output, .none) }
    }

    nonisolated func randomBytes(_ count: Int) -> [UInt8] {
        assumeIsolated { $0.nextBytes(count) }
    }

    /// Keeps passwords as they are: hashing them takes a hundred times as long as the request.
    nonisolated func start(
        _ work: PasswordWork, from address: String,
        onDone: @escaping @Sendable (PasswordWork.Result?) -> Void
    ) {
        switch work {
        case .hash(let password):
            onDone(.hashed("hash-\(Base64.encode(Array(password.utf8)))"))
        case .find(let password, let hashes):
            let hash = "hash-\(Base64.encode(Array(password.utf8)))"
            onDone(.found(hashes.firstIndex(of: hash)))
        }
    }

    nonisolated func takeSigningNews() -> SigningNews? {
        node.assumeIsolated { $0.takeSigningNews() }
    }

    nonisolated var makesFirstKey: Bool { node.assumeIsolated { $0.makesFirstKey } }

    nonisolated func onKeysChanged() {
        assumeIsolated { port in
            for connection in port.openConnections {
                connection.assumeIsolated { $0.onKeysChanged() }
            }
        }
    }

    nonisolated func log(_ line: String) {}
}
