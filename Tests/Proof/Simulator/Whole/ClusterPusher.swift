import Gateway
import Node
import Replication
import Session

/// The pusher of one process, and its surroundings: sessions of the node, and requests to the push
/// service, which the world carries.
actor ClusterPusher: PushHost {
    private nonisolated let executor: ClusterExecutor
    private let node: Node
    private nonisolated let host: ClusterHost
    private var worker: PushWorker?
    private var sessions: [UInt64: (session: Session, output: any SessionOutput)] = [:]
    private var lastSession = SessionBit.app
    /// What waits for the answers of the push service, by the numbers of the requests.
    private var calls: [UInt64: @Sendable (Int?) -> Void] = [:]
    private var lastCall: UInt64 = 0
    /// Whether the process is gone.
    private var isOver = false

    /// The key of the cluster that the pushes are signed with.
    private static let secret = [UInt8](repeating: 7, count: 32)

    init(of node: Node, host: ClusterHost, on executor: ClusterExecutor) {
        self.node = node
        self.host = host
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    // MARK: The world's side

    func start() {
        let format = PushFormat(
            secret: ClusterPusher.secret, webhook: "https://push", contact: "mailto:a@example.org")
        worker = format.map {
            PushWorker($0, host: self, clock: host, executor: executor)
        }
    }

    func onTick() { worker?.assumeIsolated { $0.onTick() } }

    /// Has the pusher end what it has begun, before its process ends in order.
    func drain() { worker?.assumeIsolated { $0.drain() } }

    var isBusy: Bool { worker?.assumeIsolated { $0.isBusy } ?? false }

    func onAnswer(_ status: Int?, to call: UInt64) { calls.removeValue(forKey: call)?(status) }

    func setHeld(_ isHeld: Bool) {
        for id in sessions.keys.sorted() {
            sessions[id]?.session.assumeIsolated { $0.setHeld(isHeld) }
        }
    }

    /// Ends with its process: nothing that waits is answered, and nothing reaches the node.
    func end() {
        isOver = true
        for number in calls.keys.sorted() { onAnswer(nil, to: number) }
        for id in sessions.keys.sorted() { sessions[id]?.output.abort() }
        worker = nil
    }

    // MARK: PushHost

    nonisolated func openSession(replyingTo output: any SessionOutput) -> Session {
        assumeIsolated { $0.open(output) }
    }

    private func open(_ output: any SessionOutput) -> Session {
        lastSession += 1
        // A process that is gone refuses everything before its node hears of it.
        let session = Session(
            lastSession, node: node, clock: host, output: output, executor: executor,
            ackLevel: .majority, authPolicy: isOver ? .closed(NoKeys()) : .none)
        guard !isOver else { return session }
        sessions[lastSession] = (session, output)
        node.assumeIsolated { [id = lastSession] in $0.attach(session, as: id) }
        return session
    }

    nonisolated func closeSession(_ session: Session) {
        assumeIsolated { pusher in
            guard pusher.sessions.removeValue(forKey: session.id) != nil, !pusher.isOver else {
                return
            }
            session.assumeIsolated { $0.onClosed() }
        }
    }

    nonisolated func post(
        _ request: PushRequest, onDone: @escaping @Sendable (Int?) -> Void
    ) -> Bool {
        assumeIsolated { pusher in
            guard !pusher.isOver else { return false }
            pusher.lastCall += 1
            pusher.calls[pusher.lastCall] = onDone
            pusher.host.appendEffect(.push(call: pusher.lastCall, request.body))
            return true
        }
    }

    nonisolated func log(_ line: String) { host.appendEffect(.log("info \(line)")) }
}

/// The keys of a process that is gone: none.
private final class NoKeys: AuthKeys {
    func admission(by secret: String, as session: UInt64) -> SignedIn? { nil }
}
