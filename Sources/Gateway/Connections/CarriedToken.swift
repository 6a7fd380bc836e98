import Admin
import CRDT

/// The session token of a request that is answered in several steps.
///
/// Each step is a session of its own, which shows nothing older than what the client and the steps
/// before have seen; the last token is the answer's.
actor CarriedToken {
    /// The token of the request that the present task answers; nil for a node's own work.
    @TaskLocal static var current: CarriedToken?

    private nonisolated let executor: any SerialExecutor
    var token: Token?

    init(since token: Token?, on executor: any SerialExecutor) {
        self.token = token
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Takes the token of a response; another response changes nothing.
    func set(_ response: Response) {
        if case .token(let token) = response { self.token = token }
    }
}
