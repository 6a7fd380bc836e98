import Admin
import CRDT

/// The session token of a client's request that is answered in several steps.
///
/// A session token names the versions of the data that its client has read and written. Each step
/// runs in its own session, which starts with the token of the client or of the step before, so
/// that no step reads older versions than those. The response contains the last step's token.
actor CarriedToken {
    /// The session token of the request that the current task answers; nil for the node's own work.
    @TaskLocal static var current: CarriedToken?

    private nonisolated let executor: any SerialExecutor
    var token: Token?

    init(since token: Token?, on executor: any SerialExecutor) {
        self.token = token
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Replaces `token` by the session token in a response; ignores a response without one.
    func set(_ response: Response) {
        if case .token(let token) = response { self.token = token }
    }
}
