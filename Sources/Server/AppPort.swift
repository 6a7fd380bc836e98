import Chat
import Gateway
import HTTPClient
import LineProtocol
import NetworkIO
import Node
import Replication
import Session
import TLS
import Wire

/// The port for apps: it answers users' requests over HTTP and WebSockets.
actor AppPort: AppHost {
    struct Client {
        let connection: Connection
        let requests: AppConnection
    }

    private nonisolated let loop: EventLoop
    nonisolated let clock: SystemClock
    private let listener: Listener
    private nonisolated let memory: ClientMemory
    private nonisolated let ackLevel: Replication.AckLevel
    nonisolated let origins: Set<String>
    nonisolated let pages: WebPages
    var partPlaces = PartPlaces()
    var userRates: RateLimiter
    var addressRates: RateLimiter
    var uploads: RateLimiter
    var arrivingUploads = ArrivingUploads()
    private var keySet: KeySet?
    nonisolated let isBehindProxy: Bool
    private let isSignUpOpen: Bool
    nonisolated let passwordThread: WorkThread
    private nonisolated let compressionThread: WorkThread
    /// The cluster's own accounts; nil where an app's tokens sign users in.
    private var ownAccounts: Accounts?
    /// The requests whose responses nobody waits for.
    private lazy var ownRequests = OwnRequests(host: self, executor: loop)
    private var pushWorker: PushWorker?
    private let pushFormat: PushFormat?
    /// Why some push services refuse what is pushed; nil where they do not.
    private let pushWeakness: String?
    /// The clients with which push services are told: those that users name, and the operator's.
    private var pushClients: (ofUsers: HTTPClient, ofOperator: HTTPClient)?
    private let mayPushToPrivate: Bool
    weak var host: NodeHost?
    /// What new connections are encrypted with; nil where they are not.
    private var encryption: CertificateContext?
    var node: Node?
    var clients: [UInt64: Client] = [:]
    /// The connections whose access token was not seen yet.
    private var arriving: [UInt64: Connection] = [:]
    private var sessions: [UInt64: Session] = [:]
    private var lastSession = SessionBit.app
    /// The connections that have asked for a turn, each once.
    private var turns = FairQueue<ClientPlaces.Holder?, UInt64>()
    /// Whether the loop has another turn in any case, after which turns are given.
    private var isWoken = false
    /// Whether keys or revocations of access tokens have changed.
    private var hasSigningNews = false
    private var date = HTTPDate()
    /// The time of this turn that is left for what clients send, in microseconds.
    private var microsecondsLeft = SessionLimits.turnMicrosecondsMax
    /// Whether lines wait unread because the node has too much to do.
    private var isHeld = false
    private var isDraining = false
    private let lingeringCloses: LingeringCloses
    private var places: ClientPlaces
    /// The clients that have lost their places, and when they are closed at the latest, in
    /// milliseconds.
    private var leaving: [UInt64: UInt64] = [:]
    /// The most passwords that wait to be hashed, some 15 ms each: some second's.
    private static let passwordsMax = 64
    /// The most answers that wait to be compressed, of a MiB at most; others are sent as they are.
    private static let compressionsMax = 32
    private static let leavingMilliseconds: UInt64 = 1_000
    private static let leavingMax = 128
    /// The clients whose access token was not seen yet.
    private var unauthenticated = HandshakeQueue(
        placesMax: NodeHost.unauthenticatedMax, millisecondsMax: NodeHost.signInMillisecondsMax)

    init(
        _ address: SocketAddress, command: NodeCommand, keys: NodeKeys, on loop: EventLoop,
        clock: SystemClock, memory: ClientMemory, limits: HostLimits,
        lingeringCloses: LingeringCloses
    ) throws(NetworkError) {
        self.loop = loop
        self.lingeringCloses = lingeringCloses
        places = ClientPlaces(countMax: limits.appClients)
        self.clock = clock
        self.memory = memory
        ackLevel = command.ackLevel
        origins = command.origins
        pages = WebPages(
            .chat, nodes: command.webNodes,
            names: command.webNodes.isEmpty
                ? nil : ServedNames(command.hostNames, of: command.webNodes), executor: loop)
        userRates = RateLimiter(perSecond: command.userRate)
        addressRates = RateLimiter(perSecond: command.addressRate)
        uploads = RateLimiter(most: command.uploadBytesOfDay, in: AppPort.dayMilliseconds)
        keySet = keys.ofTokens
        isBehindProxy = command.isBehindProxy
        isSignUpOpen = command.isSignUpOpen
        pushFormat = keys.ofPushes.flatMap {
            PushFormat(
                secret: $0, webhook: command.pushURL, contact: command.pushContact?.text ?? "")
        }
        pushWeakness = command.pushContact?.weakness
        mayPushToPrivate = command.mayBlock
        passwordThread = WorkThread(on: loop, countMax: AppPort.passwordsMax)
        compressionThread = WorkThread(on: loop, countMax: AppPort.compressionsMax)
        encryption = AppPort.encryption(keys)
        listener = try Listener(address, on: loop)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    var address: SocketAddress { listener.address }
    var clientCount: Int { clients.count + arriving.count { clients[$0.key] == nil } }

    /// - Parameter host: the process, which knows whether it has a place for another client.
    func start(_ node: Node, in host: NodeHost) throws(NetworkError) {
        self.node = node
        pages.assumeIsolated { $0.follow(node) }
        self.host = host
        startPushing()
        if keySet == nil {
            ownAccounts = Accounts(
                host: self, isSignUpOpen: isSignUpOpen, clock: clock, executor: loop)
            node.assumeIsolated { $0.expectSigningKeys() }
        }
        try listener.start { [self] connection in
            let hasPlace = host.assumeIsolated { $0.hasClientPlace }
            assumeIsolated { $0.take(connection, hasPlace: hasPlace) }
        }
    }

    /// Sets the keys of access tokens that are accepted from here on, and what new connections are
    /// encrypted with.
    func change(to keys: NodeKeys) {
        keySet = keys.ofTokens
        encryption = AppPort.encryption(keys)
        for client in clients.values { client.requests.assumeIsolated { $0.onKeysChanged() } }
    }

    private static func encryption(_ keys: NodeKeys) -> CertificateContext? {
        guard let certificate = keys.certificate else { return nil }
        do throws(Certificate.Unusable) {
            return try CertificateContext(certificate)
        } catch {
            preconditionFailure("a certificate that was read can be used")
        }
    }

    nonisolated var isEncrypted: Bool {
        assumeIsolated(with: ()) { port, _ in port.encryption != nil }
    }

    /// - Parameter hasPlace: whether the process has a place for another client.
    private func take(_ connection: Connection, hasPlace: Bool) {
        connection.limitUnsentBytes()
        let source = clientAddress(connection.peerAddress.hostText[...])
        let id = connection.id
        let loser = places.add(id, from: source, isFull: !hasPlace)
        guard loser != id else { return refuse(connection) }
        if let loser { turnAway(loser, atOnce: !hasPlace) }
        // Counted from its first byte: a handshake is part of signing in.
        arriving[id] = connection
        let evictee = unauthenticated.onArrival(id, from: source, now: clock.milliseconds) { id in
            arriving[id]?.hasRead ?? false
        }
        if let evictee { arriving[evictee]?.close() }
        guard let encryption else { return serve(connection) }
        connection.raise(
            encryption.accepting(), timeoutMilliseconds: NodeHost.signInMillisecondsMax
        ) { [self] result in
            assumeIsolated {
                switch result {
                case .success: $0.serve(connection)
                case .failure: $0.onClosed(id)
                }
            }
        }
    }

    /// Tells a client that there is no place for it.
    private func refuse(_ connection: Connection) {
        let answer = AppConnection.refusal(
            at: clock.wallMilliseconds, isEncrypted: encryption != nil)
        guard let encryption else { return lingeringCloses.dismiss(connection, saying: answer) }
        guard let lingeringClose = lingeringCloses.begin() else { return connection.close() }
        connection.raise(
            encryption.accepting(), timeoutMilliseconds: NodeHost.signInMillisecondsMax
        ) { [lingeringCloses] result in
            guard case .success = result else { return }
            lingeringCloses.dismiss(connection, saying: answer, at: lingeringClose)
        }
    }

    /// Ends the connection of a client that has lost its place.
    ///
    /// - Parameter isAtOnce: whether its descriptor is needed.
    private func turnAway(_ id: UInt64, atOnce isAtOnce: Bool) {
        guard let client = clients[id] else { return arriving[id]?.close() ?? () }
        guard !isAtOnce, leaving.count < AppPort.leavingMax else {
            return client.connection.close()
        }
        leaving[id] = clock.milliseconds + AppPort.leavingMilliseconds
        client.requests.assumeIsolated { $0.turnAway() }
    }

    private func serve(_ connection: Connection) {
        guard !isDraining else { return connection.close() }
        let id = connection.id
        let requests = AppConnection(
            id, host: self, clock: clock, output: ClientOutput(connection), executor: loop,
            memory: memory, peer: connection.peerAddress.hostText)
        clients[id] = Client(connection: connection, requests: requests)
        connection.delegate = ClientEvents(requests) { [self] in
            assumeIsolated { $0.onClosed(id) }
        }
    }

    private func onClosed(_ id: UInt64) {
        clients[id] = nil
        arriving[id] = nil
        unauthenticated.onEnd(of: id)
        places.remove(id)
        leaving[id] = nil
    }

    // MARK: Time

    /// Closes connections that take too long; called at each tick.
    func onTick() {
        for id in unauthenticated.onTime(clock.milliseconds) { arriving[id]?.close() }
        for (id, end) in leaving where clock.milliseconds >= end { clients[id]?.connection.close() }
        ownAccounts?.assumeIsolated { $0.onTick() }
        guard !isDraining else { return }
        pushWorker?.assumeIsolated { $0.onTick() }
        for client in clients.values { client.requests.assumeIsolated { $0.onTick() } }
    }

    /// Closes the port, and each connection after its present response.
    func drain() {
        listener.close()
        hold(false)
        isDraining = true
        for (id, connection) in arriving where clients[id] == nil { connection.close() }
        pushWorker?.assumeIsolated { $0.drain() }
        for client in clients.values { client.requests.assumeIsolated { $0.drain() } }
    }

    /// Closes all connections once what was written has been sent.
    func closeAll() {
        pushClients?.ofUsers.close()
        pushClients?.ofOperator.close()
        pushClients = nil
        for client in clients.values { client.connection.closeAfterFlush() }
    }

    /// Whether a request waits for its answer, or a push to be recorded.
    var isAnswering: Bool {
        pushWorker?.assumeIsolated { $0.isBusy } ?? false
            || clients.values.contains { $0.requests.assumeIsolated { $0.isAnswering } }
    }

    // MARK: Sessions

    func session(_ id: UInt64) -> Session? { sessions[id] }

    func hold(_ isHeld: Bool) {
        // What was asked before the end is still answered, and nothing else is taken.
        guard !isDraining else { return }
        self.isHeld = isHeld
        for session in sessions.values { session.assumeIsolated { $0.setHeld(isHeld) } }
    }

    /// Disconnects a client that stalls while memory is tight.
    func onStalled(_ id: UInt64) {
        if let session = sessions[id] { return session.assumeIsolated { $0.onStalled() } }
        clients[id]?.requests.assumeIsolated { $0.onStalled() }
    }

    private func open(_ output: any SessionOutput, _ policy: AuthPolicy) -> Session? {
        guard let node else { return nil }
        lastSession += 1
        let session = Session(
            lastSession, node: node, clock: clock, output: output, executor: loop,
            ackLevel: ackLevel, authPolicy: policy, memory: memory)
        sessions[lastSession] = session
        node.assumeIsolated { $0.attach(session, as: session.id) }
        if isHeld { session.assumeIsolated { $0.setHeld(true) } }
        return session
    }

    private func close(_ session: Session) {
        sessions[session.id] = nil
        session.assumeIsolated { $0.onClosed() }
    }
}

// MARK: AppHost

extension AppPort {
    nonisolated func openSession(
        of user: UserID, signIn: DeviceSignIn?, replyingTo output: any SessionOutput
    ) -> Session {
        open(output, as: .user(user, signIn: signIn))
    }

    nonisolated func open(_ output: any SessionOutput, as policy: AuthPolicy) -> Session {
        guard let session = assumeIsolated({ $0.open(output, policy) }) else {
            preconditionFailure("connections are taken once there is a node")
        }
        return session
    }

    nonisolated func closeSession(_ session: Session) { assumeIsolated { $0.close(session) } }

    nonisolated func execute(_ request: Request) {
        assumeIsolated { port in port.ownRequests.assumeIsolated { $0.begin(request) } }
    }

    nonisolated func askForTurn(of connection: UInt64) {
        assumeIsolated(with: connection) { $0.awaitTurn($1) }
    }

    private func awaitTurn(_ connection: UInt64) {
        turns.append(connection, of: places.holder(of: connection))
        wake()
    }

    /// Has the accounts take what has changed of keys and revocations, at the end of this turn.
    func onSigningNews() {
        hasSigningNews = true
        wake()
    }

    /// Has the loop have another turn, after which turns are given.
    private func wake() {
        guard !isWoken else { return }
        isWoken = true
        loop.post {}
    }

    nonisolated var hasTimeToRead: Bool {
        assumeIsolated(with: ()) { port, _ in port.microsecondsLeft > 0 }
    }

    nonisolated func subtract(used: UInt64) {
        assumeIsolated(with: used) { $0.microsecondsLeft -= min($1, $0.microsecondsLeft) }
    }

    /// Gives connections the turns that they have asked for, until the time that a turn of the loop
    /// has for that is used up; called at the end of each.
    ///
    /// A connection that asks again meanwhile has its next turn after the others of its user.
    func giveTurns() {
        let end = clock.microseconds + SessionLimits.turnMicrosecondsMax
        isWoken = false
        if hasSigningNews {
            hasSigningNews = false
            ownAccounts?.assumeIsolated { $0.onSigningNews() }
        }
        var due = turns.count
        while due > 0, let connection = turns.takeFirst() {
            due -= 1
            clients[connection]?.requests.assumeIsolated { $0.onTurn() }
            if clock.microseconds >= end { break }
        }
        if !turns.isEmpty { wake() }
        microsecondsLeft = SessionLimits.turnMicrosecondsMax
    }

    nonisolated func onSignIn(_ connection: UInt64, as user: UserID?, from address: String) {
        assumeIsolated {
            $0.arriving[connection] = nil
            $0.unauthenticated.onEnd(of: connection)
            $0.places.identify(connection, as: user?.text, from: address)
        }
    }

    nonisolated func renewArrival(of connection: UInt64) {
        assumeIsolated { $0.unauthenticated.renew(connection, now: clock.milliseconds) }
    }

    nonisolated func takePartPlace(for connection: UInt64) -> Bool {
        assumeIsolated { $0.partPlaces.take(for: connection) }
    }

    nonisolated func giveBack(partPlaces count: Int) {
        let next = assumeIsolated { $0.partPlaces.give(back: count) }
        for connection in next { askForTurn(of: connection) }
    }

    nonisolated func endUpload(of connection: UInt64) {
        let next = assumeIsolated {
            $0.arrivingUploads.end(connection)
            return $0.partPlaces.end(connection)
        }
        for connection in next { askForTurn(of: connection) }
    }

    nonisolated var httpDate: String {
        assumeIsolated(with: clock.wallMilliseconds) { $0.date.text(of: $1) }
    }

    nonisolated func makeID() -> String {
        assumeIsolated(with: ()) { port, _ in port.node?.mintID() ?? "" }
    }

    nonisolated var keys: KeySet? { assumeIsolated { $0.currentKeys } }

    nonisolated var accounts: Accounts? {
        assumeIsolated(with: ()) { port, _ in port.ownAccounts }
    }

    var currentKeys: KeySet? {
        keySet ?? ownAccounts?.assumeIsolated { $0.keySet }
    }
}

// MARK: PushHost

extension AppPort: PushHost {
    private func startPushing() {
        if let weakness = keySet?.rules?.weakness { host?.log(.warn, weakness) }
        guard let pushFormat else { return }
        if let pushWeakness { host?.log(.warn, pushWeakness) }
        do throws(HTTPClientError) {
            // With --faults a test may subscribe an address of this machine.
            pushClients = (
                try HTTPClient(on: loop, mayReachPrivate: mayPushToPrivate),
                try HTTPClient(on: loop, mayReachPrivate: true)
            )
        } catch {
            return host?.log(.error, "nothing is pushed: \(error)") ?? ()
        }
        pushWorker = PushWorker(pushFormat, host: self, clock: clock, executor: loop)
    }

    /// How long a push service may take, in milliseconds.
    private static let pushMilliseconds: UInt64 = 10_000

    nonisolated func post(
        _ request: PushRequest, onDone: @escaping @Sendable (Int?) -> Void
    ) -> Bool {
        assumeIsolated { port in
            guard let clients = port.pushClients else { return false }
            let outgoing = OutgoingRequest(
                url: request.url, headers: request.headers.map { ($0.name, $0.value) },
                body: request.body, timeoutMilliseconds: AppPort.pushMilliseconds)
            let client = request.isWebhook ? clients.ofOperator : clients.ofUsers
            return client.post(outgoing) { result in
                if case .success(let status) = result { onDone(status) } else { onDone(nil) }
            }
        }
    }

    nonisolated func compress(
        of source: String, _ work: @escaping @Sendable () -> [UInt8]?,
        onDone: @escaping @Sendable ([UInt8]?) -> Void
    ) {
        compressionThread.start(from: source, work) { onDone($0 ?? nil) }
    }

    nonisolated var pushKey: String? { assumeIsolated { $0.pushFormat?.publicKey } }

    var pushCounts: [PushWorker.Outcome: UInt64] {
        pushWorker?.assumeIsolated { $0.counts } ?? [:]
    }
}
