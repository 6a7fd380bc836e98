import CSystem
import Gateway
import LineProtocol
import NetworkIO
import Node
import Session
import TLS
import Wire

/// The process around its node: it listens, dials, logs, and ends.
actor NodeHost: Host {
    /// The most milliseconds of an orderly end, after which the rest is cut short.
    static let endingMillisecondsMax: UInt64 = 3_000
    /// The most milliseconds of a dial: short, so that a healed network partition is noticed soon.
    static let dialMillisecondsMax: UInt64 = 500
    /// The most clients at once that must sign in and have not; the oldest is closed for another.
    static let unauthenticatedMax = 256
    /// The most milliseconds until a client has signed in: enough to do it by hand.
    static let signInMillisecondsMax: UInt64 = 10_000
    /// The most milliseconds for the last bytes to leave, and for clients to close.
    static let flushMillisecondsMax: UInt64 = 500

    private struct Client {
        let connection: Connection
        let session: Session
    }

    private nonisolated let loop: EventLoop
    private nonisolated let command: NodeCommand
    private nonisolated let clock: SystemClock
    private nonisolated let startedAtMilliseconds = EventLoop.wallMilliseconds()
    private let peerListener: Listener
    private let clientListener: Listener
    private let ops: OpsPort?
    private let apps: AppPort?
    /// The authentication of other nodes; nil where the node has no key.
    private let authenticator: PeerAuthenticator?
    private var clientKeys: ClientKeys?
    /// The peers that closed a connection of this node, which has no key, without sending anything.
    private var hangUps = Refusals()
    /// The clients that must sign in and have not.
    private var unauthenticated = HandshakeQueue(
        placesMax: NodeHost.unauthenticatedMax, millisecondsMax: NodeHost.signInMillisecondsMax)
    private var node: Node?
    private var clients: [UInt64: Client] = [:]
    private let hostLimits: HostLimits
    private let lingeringCloses: LingeringCloses
    /// The memory that all sessions share.
    private let memory: ClientMemory
    /// Whether memory was tight at the last tick.
    private var isMemoryTight = false
    /// The number of connections that others dialled.
    private var inboundPeers = 0
    private nonisolated let writeLog: NodeLog
    /// The way in which the process ends; nil until that is known.
    nonisolated let outcome = Lock<Ending?>(nil)
    private var ending: Ending? { outcome.withLock { $0 } }
    private var endingSince: UInt64 = 0
    private var isFlushing = false
    private var isHoldingClients = false
    /// The addresses whose names could not be resolved at the last dial; no more than are dialled.
    private var unresolved: Set<String> = []

    /// - Parameter standardError: the writer of the log.
    init(
        _ command: NodeCommand, keys: NodeKeys, on loop: EventLoop, log standardError: LineWriter
    ) throws(NetworkError) {
        self.command = command
        self.loop = loop
        clock = SystemClock(loop)
        let writeLog = NodeLog(command, at: clock, to: standardError)
        self.writeLog = writeLog
        authenticator = keys.ofNodes.map { keys in
            PeerAuthenticator(keys, on: loop) { writeLog.write(.error, $0) }
        }
        peerListener = try Listener(command.gossip, on: loop)
        clientListener = try Listener(command.admin, on: loop)
        ops = try command.ops.map { [clock] address throws(NetworkError) in
            try OpsPort(address, command: command, on: loop, clock: clock)
        }
        hostLimits = HostLimits(descriptors: Int(max(0, csystem_raise_descriptor_limit())))
        lingeringCloses = LingeringCloses(atMost: hostLimits.lingeringCloses)
        memory = ClientMemory(executor: loop) { isTight in
            loop.readBytes = isTight ? EventLoop.readBytesTight : EventLoop.readBytesMax
        }
        if let address = command.http {
            apps = try AppPort(
                address, command: command, keys: keys, on: loop, clock: clock,
                memory: memory, limits: hostLimits, lingeringCloses: lingeringCloses)
        } else {
            apps = nil
        }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    var gossip: String { peerListener.address.description }
    var admin: String { clientListener.address.description }
    /// The addresses that others dial.
    var advertised: (gossip: String, admin: String) {
        guard let host = command.advertise else { return (gossip, admin) }
        return (
            "\(host):\(peerListener.address.port)", "\(host):\(clientListener.address.port)"
        )
    }

    /// Starts the node and opens its ports; until it serves, `READY` gives the reason.
    func start(_ node: Node) -> Result<Void, NetworkError> {
        self.node = node
        do throws(NetworkError) {
            try peerListener.start { [self] connection in
                assumeIsolated { $0.admit(connection, dialed: nil) }
            }
            try clientListener.start { [self] connection in
                assumeIsolated { $0.takeClient(connection) }
            }
            if let apps {
                let result = apps.assumeIsolated { apps in
                    Result { () throws(NetworkError) in try apps.start(node, in: self) }
                }
                try result.get()
            }
            if let ops {
                let result = ops.assumeIsolated { ops in
                    Result { () throws(NetworkError) in try ops.start(node) }
                }
                try result.get()
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Hands on a connection to or from another node once that has proved that it knows the key.
    private func admit(_ connection: Connection, dialed address: String?) {
        guard let authenticator, ending == nil else {
            return acceptPeer(connection, dialed: address)
        }
        var slow: Timer?
        if let address {
            slow = Timer(on: loop, afterMilliseconds: NodeHost.dialMillisecondsMax) { [node] in
                node?.assumeIsolated { $0.onDialSlow(address) }
            }
        }
        authenticator.admit(connection, dialed: address) { [self] result in
            slow?.cancel()
            switch result {
            case .success: assumeIsolated { $0.acceptPeer(connection, dialed: address) }
            case .failure(let error):
                if let address { assumeIsolated { $0.noteFailure(of: address, error) } }
            }
        }
    }

    private func noteFailure(of address: String, _ error: NetworkError) {
        let isRefused = error == .refused || error == .reset
        node?.assumeIsolated { $0.onDialFailed(address, isRefused: isRefused) }
    }

    /// Logs that a peer hung up without a word, as nodes with a key do on a node without one.
    private func noteHangUp(_ address: String) {
        let now = clock.milliseconds
        guard authenticator == nil, hangUps.onRefusal(of: address, because: .hungUp, now: now)
        else {
            return
        }
        log(
            .info,
            "peer hung up without a word; if it has a --key-file, this node needs it at=\(address)"
        )
    }

    private func acceptPeer(_ connection: Connection, dialed address: String?) {
        guard let node, ending == nil else { return connection.close() }
        let isFree = address != nil || inboundPeers < hostLimits.inboundPeers
        let source = connection.peerAddress.hostText
        // An evicted connection gives up its descriptor at once, and its place at the turn's end.
        guard isFree || node.assumeIsolated({ $0.evictGreeting(for: source) }) else {
            return connection.close()
        }
        if address == nil { inboundPeers += 1 }
        let id = connection.id
        let channel = PeerChannel(
            connection, node: node, lingeringCloses: lingeringCloses,
            onHungUp: { [self] in if let address { assumeIsolated { $0.noteHangUp(address) } } },
            onClose: { [self] in
                assumeIsolated {
                    $0.authenticator?.onClosed(id)
                    if address == nil { $0.inboundPeers -= 1 }
                }
            })
        node.assumeIsolated { $0.onChannel(channel, dialed: address) }
        connection.delegate = channel
    }
}

// MARK: Clients

extension NodeHost {
    private func takeClient(_ connection: Connection) {
        guard let node, ending == nil else { return connection.close() }
        guard hasClientPlace else {
            let sentence = "Too many connections: this node takes at most \(hostLimits.clients)"
            return lingeringCloses.dismiss(connection, saying: LineError(429, sentence).reply)
        }
        connection.limitUnsentBytes()
        let session = Session(
            connection.id, node: node, clock: clock, output: ClientOutput(connection),
            executor: loop, ackLevel: command.ackLevel, authPolicy: authPolicy, memory: memory)
        node.assumeIsolated { $0.attach(session, as: session.id) }
        clients[connection.id] = Client(connection: connection, session: session)
        if isHoldingClients { session.assumeIsolated { $0.setHeld(true) } }
        let id = connection.id
        connection.delegate = ClientEvents(session) { [self] in
            assumeIsolated { $0.onClientClosed(id) }
        }
        guard isSignInClosed else { return }
        let source = connection.peerAddress.hostText
        // At once and without a reason: an orderly close takes as long as the other side likes.
        let evictee = unauthenticated.onArrival(id, from: source, now: clock.milliseconds) { id in
            clients[id]?.connection.hasRead ?? false
        }
        if let evictee {
            clients[evictee]?.connection.close()
        }
    }

    /// Whether there is a place for another client, on whichever port it arrives.
    var hasClientPlace: Bool {
        clients.count + (apps?.assumeIsolated { $0.clientCount } ?? 0) < hostLimits.clients
    }

    /// Returns the session with a number, on whichever port its client is.
    private func session(_ id: UInt64) -> Session? {
        clients[id]?.session ?? apps?.assumeIsolated { $0.session(id) }
    }

    private func onClientClosed(_ id: UInt64) {
        clients[id] = nil
        unauthenticated.onEnd(of: id)
        clientKeys?.onClosed(id)
    }

    private var isSignInClosed: Bool { !command.admin.isLoopback }

    private var authPolicy: AuthPolicy {
        guard let clientKeys else { return .none }
        return isSignInClosed ? .closed(clientKeys) : .open(clientKeys)
    }

    /// Disconnects clients that take too long to sign in, and those whose access token has expired;
    /// called at each tick.
    func watchUnauthenticated() {
        for id in unauthenticated.onTime(clock.milliseconds) {
            clients[id]?.session.assumeIsolated { $0.turnAway(.signInLate) }
        }
        for id in clientKeys?.takeExpired() ?? [] {
            clients[id]?.session.assumeIsolated { $0.turnAway(.signInExpired) }
        }
    }

    private func holdClients(_ isHeld: Bool) {
        isHoldingClients = isHeld
        guard ending == nil || isHeld else { return }
        for client in clients.values { client.session.assumeIsolated { $0.setHeld(isHeld) } }
        apps?.assumeIsolated { $0.hold(isHeld) }
    }
}

// MARK: Keys

extension NodeHost {
    /// Sets the keys with which clients sign in from here on.
    func open(with keys: NodeKeys) {
        let tokens = command.admitsUsers ? keys.ofTokens : nil
        guard keys.ofClients != nil || command.admitsUsers else { return }
        clientKeys = ClientKeys(
            keys.ofClients, tokens: tokens,
            now: { [clock] in Int64(clamping: clock.wallMilliseconds) },
            onSignIn: { [self] id in assumeIsolated { $0.unauthenticated.onEnd(of: id) } },
            onRefusal: { [self] id in assumeIsolated { $0.noteWrongSecret(of: id) } })
    }

    /// Logs a wrong secret; `LogLimit` bounds these lines, since all of them are of one kind.
    private func noteWrongSecret(of id: UInt64) {
        guard let client = clients[id] else { return }
        log(.info, "AUTH refused: wrong secret from=\(client.connection.peerAddress)")
    }

    /// Sets the keys of access tokens, and closes the connections of users whose token is not
    /// accepted any more.
    func onTokensChanged(to tokens: KeySet?) {
        guard command.admitsUsers else { return }
        for id in clientKeys?.change(toTokens: tokens) ?? [] { clients[id]?.connection.close() }
    }

    /// Reads the key files again; invalid ones change nothing.
    nonisolated func rereadKeys() { assumeIsolated { $0.changeKeys() } }

    private func changeKeys() {
        guard
            command.keyFile != nil || command.adminKeyFile != nil || command.jwtKeyFile != nil
                || command.tlsKey != nil
        else {
            return log(.info, "nothing to read again: this node has no key files")
        }
        let keys: NodeKeys
        do throws(NodeKeys.Unusable) {
            keys = try NodeKeys(of: command)
        } catch {
            return log(.error, "keys unchanged: \(error.sentence)")
        }
        if let ofNodes = keys.ofNodes { authenticator?.change(to: ofNodes) }
        for id in clientKeys?.change(to: keys.ofClients) ?? [] {
            clients[id]?.connection.close()
        }
        if command.jwtKeyFile != nil { onTokensChanged(to: keys.ofTokens) }
        apps?.assumeIsolated { $0.change(to: keys) }
        let counts = [keys.ofNodes, keys.ofClients].map { $0?.keys.count ?? 0 }
        let tokenKeys = keys.ofTokens?.count ?? 0
        log(
            .info,
            "keys read again: nodes=\(counts[0]) clients=\(counts[1]) tokens=\(tokenKeys)")
    }
}

// MARK: Memory

extension NodeHost {
    /// Continues connections of the port for apps and sessions that yielded to others, and sessions
    /// for whose requests memory has become free; called at the end of each turn.
    func continueSessions() {
        apps?.assumeIsolated { $0.giveTurns() }
        memory.assumeIsolated { $0.endTurn() }
        while let id = memory.assumeIsolated({ $0.takeTurn() }) {
            session(id)?.assumeIsolated { $0.onTurn() }
        }
        let (isWaiting, isAwaited) = memory.assumeIsolated { ($0.openTurn(), $0.isAwaited) }
        if isWaiting { turnAgain() }
        guard isAwaited else { return }
        let end = clock.microseconds + SessionLimits.turnMicrosecondsMax
        while let id = memory.assumeIsolated({ $0.takeWaiting() }) {
            session(id)?.assumeIsolated { $0.onMemoryFreed() }
            if clock.microseconds >= end { return turnAgain() }
        }
    }

    /// Disconnects clients that hold much memory and stall while memory is tight; called at each
    /// tick.
    func disconnectStalledClients() {
        let wasTight = isMemoryTight
        isMemoryTight = memory.assumeIsolated { $0.isTight }
        if wasTight, !isMemoryTight { csystem_return_free_memory() }
        let stalled = memory.assumeIsolated { [clock] in $0.takeStalled(now: clock.milliseconds) }
        for id in stalled {
            if let client = clients[id] {
                client.session.assumeIsolated { $0.onStalled() }
            } else {
                apps?.assumeIsolated { $0.onStalled(id) }
            }
        }
        guard !stalled.isEmpty else { return }
        log(.info, "memory budget exhausted, disconnected stalled clients=\(stalled.count)")
    }
}

// MARK: Host

extension NodeHost {
    nonisolated func dial(_ address: String) {
        let node = assumeIsolated { $0.node }
        guard let target = Endpoint(address) else {
            loop.post { node?.assumeIsolated { $0.onDialFailed(address, isRefused: false) } }
            return
        }
        Connection.dial(target, on: loop, timeoutMilliseconds: NodeHost.dialMillisecondsMax) {
            [self] result in
            switch result {
            case .success(let connection):
                assumeIsolated {
                    $0.unresolved.remove(address)
                    $0.admit(connection, dialed: address)
                }
            case .failure(let error):
                assumeIsolated {
                    $0.logDialError(error, at: address)
                    $0.noteFailure(of: address, error)
                }
            }
        }
    }

    /// Logs once that a name cannot be resolved: it may be mistyped, or of a host that is about to
    /// start.
    private func logDialError(_ error: NetworkError, at address: String) {
        guard case .unresolved = error, unresolved.insert(address).inserted else { return }
        log(.info, "\(error); trying on address=\(address)")
    }

    nonisolated func onReady() { assumeIsolated { $0.serve() } }

    private func serve() {
        do throws(NetworkError) {
            // The reader of standard output may have stopped reading; that must not stop the node.
            let output = try LineWriter(1) { "lines dropped: \($0)" }
            let http = apps.map { port in " http=\(port.assumeIsolated { $0.address })" } ?? ""
            let ops = ops.map { port in " ops=\(port.assumeIsolated { $0.address })" } ?? ""
            output.write("ready name=\(command.name) gossip=\(gossip) admin=\(admin)\(http)\(ops)")
        } catch {
            log(.error, "ready, and could not say so on standard output: \(error)")
        }
    }

    nonisolated func turnAgain() { loop.post {} }

    nonisolated func onSigningNews() {
        assumeIsolated { host in host.apps?.assumeIsolated { $0.onSigningNews() } }
    }

    nonisolated func setClientsPaused(_ isPaused: Bool) {
        assumeIsolated { $0.holdClients(isPaused) }
    }

    nonisolated var isDebugging: Bool { writeLog.isDebugging }

    nonisolated func log(_ level: LogLevel, _ line: String) { writeLog.write(level, line) }

    /// Closes connections over HTTP that take too long; called at each tick.
    func watchHTTP() {
        ops?.assumeIsolated { $0.onTick() }
        apps?.assumeIsolated { $0.onTick() }
    }

    func logWithheld() { writeLog.writeWithheld() }

    nonisolated var residentBytes: UInt64 { UInt64(max(0, csystem_resident_bytes())) }

    nonisolated var usage: ProcessUsage? {
        ProcessUsage(startedAtMilliseconds: startedAtMilliseconds)
    }

    nonisolated var pushes: [(result: String, count: UInt64)] {
        assumeIsolated { host in
            guard let apps = host.apps, host.command.pushKeyFile != nil else { return [] }
            let counts = apps.assumeIsolated { $0.pushCounts }
            return PushWorker.Outcome.allCases.map { ($0.rawValue, counts[$0] ?? 0) }
        }
    }

    nonisolated var limits: [Limit] {
        Limit.ofTheProcess + Limit.ofUnauthenticated + (apps == nil ? [] : Limit.ofApps)
            + (ops == nil ? [] : Limit.ofOps)
    }
}

// MARK: The end

extension NodeHost {
    nonisolated func end(_ ending: Ending) { assumeIsolated { $0.beginEnd(ending) } }

    private func beginEnd(_ ending: Ending) {
        guard outcome.withLock({ $0 == nil }) else { return }
        outcome.withLock { $0 = ending }
        endingSince = clock.milliseconds
        peerListener.close()
        clientListener.close()
        ops?.assumeIsolated { $0.drain() }
        apps?.assumeIsolated { $0.drain() }
        guard ending == .shutdown else { return loop.stop() }
        log(.info, "stopping")
        node?.assumeIsolated { $0.stopWaiting() }
        holdClients(true)
    }

    /// Continues the end of the process once all that was begun is done; called at the end of each
    /// turn.
    func continueEnd() {
        guard ending == .shutdown, let node else { return }
        let now = clock.milliseconds
        let isLate = now >= endingSince + NodeHost.endingMillisecondsMax
        if !isFlushing, isLate || (node.assumeIsolated({ $0.isSettled }) && !isAnswering) {
            isFlushing = true
            endingSince = now
            for client in clients.values { client.connection.closeAfterFlush() }
            apps?.assumeIsolated { $0.closeAll() }
        }
        guard isFlushing else { return }
        // Closing while the client still writes resets the connection, and the client may lose the
        // last replies.
        let isEmpty = clients.isEmpty && apps?.assumeIsolated { $0.clientCount } ?? 0 == 0
        if isEmpty || now >= endingSince + NodeHost.flushMillisecondsMax { loop.stop() }
    }

    /// Whether a client still waits for a reply.
    private var isAnswering: Bool {
        clients.values.contains { $0.session.assumeIsolated { $0.isAnswering } }
            || apps?.assumeIsolated { $0.isAnswering } ?? false
    }
}
