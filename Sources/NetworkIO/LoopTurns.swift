/// The job of a loop's executor in which the loop's turns run.
///
/// The runtime knows on which executor a job runs. Therefore, in everything that the loop calls,
/// `assumeIsolated` compares two pointers; outside of a job it would ask the main actor's executor
/// first, and then the loop, at ten times the cost.
actor LoopTurns {
    private nonisolated let loop: EventLoop

    init(of loop: EventLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Runs `turns` to its end, on the loop's thread, before this returns.
    nonisolated func run(_ turns: @escaping @Sendable () -> Void) {
        assumeIsolated { $0.start(turns) }
    }

    private func start(_ turns: @escaping @Sendable () -> Void) {
        Task.immediate { perform(turns) }
    }

    /// Isolated, so that the job is one of this executor's.
    private func perform(_ turns: () -> Void) { turns() }
}
