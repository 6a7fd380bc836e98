import Admin
import CRDT

/// The session token of a request that is answered in several steps.
///
/// Each step is a session of its own, which begins with the token of the client or of the step
/// before, and so shows nothing older; the answer carries the last token.
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

    /// Stores the token of a token response; ignores any other response.
    func set(_ response: Response) {
        if case .token(let token) = response { self.token = token }
    }
}
