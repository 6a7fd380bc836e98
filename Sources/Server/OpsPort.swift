import Admin
import Gateway
import NetworkIO
import Node
import Session

/// The port for operations: it answers probes and the collectors of figures over HTTP.
actor OpsPort {
    /// The most connections at once; a further one is closed.
    static let connectionsMax = 64

    private struct Client {
        let connection: Connection
        let requests: OpsConnection
    }

    private nonisolated let loop: EventLoop
    private let clock: SystemClock
    private let pages: WebPages
    private let listener: Listener
    private var clients: [UInt64: Client] = [:]

    init(
        _ address: SocketAddress, command: NodeCommand, on loop: EventLoop, clock: SystemClock
    ) throws(NetworkError) {
        self.loop = loop
        self.clock = clock
        pages = WebPages(
            .cluster, nodes: command.opsWebNodes, mayPlay: command.mayBlock,
            names: ServedNames(command.hostNames, of: command.opsWebNodes), executor: loop)
        listener = try Listener(address, on: loop)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    var address: SocketAddress { listener.address }

    func start(_ node: Node) throws(NetworkError) {
        pages.assumeIsolated { $0.follow(node) }
        try listener.start { [self] connection in
            assumeIsolated { $0.take(connection, for: node) }
        }
    }

    /// Closes connections that take too long; called at each tick.
    func onTick() {
        for client in clients.values { client.requests.assumeIsolated { $0.onTick() } }
    }

    /// Closes the port, and each connection after its present response.
    func drain() {
        listener.close()
        for client in clients.values { client.requests.assumeIsolated { $0.drain() } }
    }

    private func take(_ connection: Connection, for node: Node) {
        guard clients.count < OpsPort.connectionsMax else { return connection.close() }
        let id = connection.id
        let requests = OpsConnection(
            showing: Admin(node), and: pages, clock: clock, output: ClientOutput(connection),
            executor: loop,
            askForTurn: { [self] in loop.post { self.assumeIsolated { $0.onTurn(id) } } })
        clients[id] = Client(connection: connection, requests: requests)
        connection.delegate = ClientEvents(requests) { [self] in
            assumeIsolated { $0.clients[id] = nil }
        }
    }

    private func onTurn(_ id: UInt64) {
        clients[id]?.requests.assumeIsolated { $0.onTurn() }
    }
}
