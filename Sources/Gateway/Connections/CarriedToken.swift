import Admin
import CRDT

/// The session tokens of a client's request that is answered in several steps.
///
/// A session token names the versions of the data that its client has read and written. Each step
/// runs in its own session, which starts with the tokens of the client or the token of the step
/// before, so that no step reads older versions than those. The response contains the last step's
/// token.
actor CarriedToken {
    /// The session token of the request that the current task answers; nil for the node's own work.
    @TaskLocal static var current: CarriedToken?

    private nonisolated let executor: any SerialExecutor
    private(set) var tokens: [Token]

    init(since tokens: [Token], on executor: any SerialExecutor) {
        self.tokens = tokens
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Replaces `tokens` by the session token in a response; ignores a response without one.
    func set(_ response: Response) {
        if case .token(let token) = response { tokens = [token] }
    }
}
