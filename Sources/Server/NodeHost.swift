import CSystem
import LineProtocol
import NetworkIO
import Node
import Session
import Wire

/// What the process does for its node: listens, dials, logs, and ends.
actor NodeHost: Host {
    /// The most clients at once; the next is told so and closed.
    static let clientsMax = 10_000
    /// How long an orderly end may take, in milliseconds, before the rest is cut short.
    static let endingMillisecondsMax: UInt64 = 3_000
    /// How long a dial may take, in milliseconds: a cut that is healed is to be noticed soon.
    static let dialMillisecondsMax: UInt64 = 500
    /// How long the last bytes may take to leave, and clients to close, in milliseconds.
    static let flushMillisecondsMax: UInt64 = 500

    private struct Client {
        let connection: Connection
        let session: Session
    }

    private nonisolated let loop: EventLoop
    private nonisolated let command: NodeCommand
    private nonisolated let clock: SystemClock
    private let peerListener: Listener
    private let clientListener: Listener
    private var node: Node?
    private var clients: [UInt64: Client] = [:]
    /// How the process ends, once that is known.
    nonisolated let outcome = Lock<Ending?>(nil)
    private var ending: Ending? { outcome.withLock { $0 } }
    private var endingSince: UInt64 = 0
    private var isFlushing = false
    private var isHoldingClients = false

    init(_ command: NodeCommand, on loop: EventLoop) throws(NetworkError) {
        self.command = command
        self.loop = loop
        clock = SystemClock(loop)
        peerListener = try Listener(command.gossip, on: loop)
        clientListener = try Listener(command.admin, on: loop)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    var gossip: String { peerListener.address.description }
    var admin: String { clientListener.address.description }
    /// Starts the node and has the others reach it; clients come once it is ready.
    func start(_ node: Node) -> Result<Void, NetworkError> {
        self.node = node
        do throws(NetworkError) {
            try peerListener.start { [self] connection in
                assumeIsolated { $0.take(connection, dialed: nil) }
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func take(_ connection: Connection, dialed address: String?) {
        guard let node, ending == nil else { return connection.close() }
        let channel = PeerChannel(connection, node: node)
        node.assumeIsolated { $0.onChannel(channel, dialed: address) }
        connection.delegate = channel
    }
}

// MARK: Clients

extension NodeHost {
    private func takeClient(_ connection: Connection) {
        guard clients.count < NodeHost.clientsMax, let node, ending == nil else {
            connection.write(LineError(503, "Too many connections").reply)
            return connection.closeAfterFlush()
        }
        let session = Session(
            connection.id, node: node, clock: clock, output: ClientOutput(connection),
            executor: loop, ackLevel: command.ackLevel)
        node.assumeIsolated { $0.attach(session, as: session.id) }
        clients[connection.id] = Client(connection: connection, session: session)
        if isHoldingClients { session.assumeIsolated { $0.setHeld(true) } }
        let id = connection.id
        connection.delegate = ClientEvents(session) { [self] in
            assumeIsolated { $0.onClientClosed(id) }
        }
    }

    private func onClientClosed(_ id: UInt64) { clients[id] = nil }

    private func holdClients(_ isHeld: Bool) {
        isHoldingClients = isHeld
        guard ending == nil || isHeld else { return }
        for client in clients.values { client.session.assumeIsolated { $0.setHeld(isHeld) } }
    }
}

// MARK: Host

extension NodeHost {
    nonisolated func dial(_ address: String) {
        let node = assumeIsolated { $0.node }
        guard let target = SocketAddress(address) else {
            loop.post { node?.assumeIsolated { $0.onDialFailed(address, isRefused: false) } }
            return
        }
        Connection.dial(target, on: loop, timeoutMilliseconds: NodeHost.dialMillisecondsMax) {
            [self] result in
            switch result {
            case .success(let connection): assumeIsolated { $0.take(connection, dialed: address) }
            case .failure(let error):
                node?.assumeIsolated {
                    $0.onDialFailed(address, isRefused: error == .refused || error == .reset)
                }
            }
        }
    }

    nonisolated func onReady() { assumeIsolated { $0.serve() } }

    private func serve() {
        do throws(NetworkError) {
            try clientListener.start { [self] connection in
                assumeIsolated { $0.takeClient(connection) }
            }
        } catch {
            return end(.unusable("cannot take clients: \(error)"))
        }
        writeLine("ready name=\(command.name) gossip=\(gossip) admin=\(admin)", to: 1)
    }

    nonisolated func turnAgain() { loop.post {} }

    nonisolated func setClientsPaused(_ isPaused: Bool) {
        assumeIsolated { $0.holdClients(isPaused) }
    }

    nonisolated func log(_ level: LogLevel, _ line: String) {
        guard level <= command.logLevel else { return }
        let time = LineTime.text(Int64(clock.wallMilliseconds))
        writeLine("\(time) \(level.rawValue) node=\(command.name) \(line)", to: 2)
    }

    nonisolated var residentBytes: UInt64 { UInt64(max(0, csystem_resident_bytes())) }
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
        guard ending == .shutdown else { return loop.stop() }
        log(.info, "stopping")
        node?.assumeIsolated { $0.stopWaiting() }
        holdClients(true)
    }

    /// At the end of each turn and each tick: whether all that was begun is done.
    func continueEnd() {
        guard ending == .shutdown, let node else { return }
        let now = clock.milliseconds
        let isLate = now >= endingSince + NodeHost.endingMillisecondsMax
        if !isFlushing, isLate || (node.assumeIsolated({ $0.isSettled }) && !isAnswering) {
            isFlushing = true
            endingSince = now
            for client in clients.values { client.connection.closeAfterFlush() }
        }
        guard isFlushing else { return }
        // A connection that is closed while the client still writes is reset, and the client may
        // lose the last replies.
        if clients.isEmpty || now >= endingSince + NodeHost.flushMillisecondsMax { loop.stop() }
    }

    /// Whether a client still waits for a reply.
    private var isAnswering: Bool {
        clients.values.contains { $0.session.assumeIsolated { $0.isAnswering } }
    }
}
