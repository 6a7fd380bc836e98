/// The session token of a request that is answered in several steps.
///
/// Each step is a session of its own, which shows nothing older than what the client and the steps
/// before have seen; the last token is the answer's.
actor CarriedToken {
    /// The token of the request that the present task answers; nil for a node's own work.
    @TaskLocal static var current: CarriedToken?

    private nonisolated let executor: any SerialExecutor
    var token: String?

    init(since token: String?, on executor: any SerialExecutor) {
        self.token = token
        self.executor = executor
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func set(_ token: String?) { self.token = token ?? self.token }
}
