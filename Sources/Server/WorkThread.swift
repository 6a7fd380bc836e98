import NetworkIO

/// A thread for work that keeps a processor busy for milliseconds.
///
/// It does one piece at a time, of each source in turn, so that the loop keeps its processor, and
/// ends when nothing waits.
final class WorkThread: Sendable {
    private struct Order: Sendable {
        /// Does the work, and returns what tells the loop of it.
        let run: @Sendable () -> @Sendable () -> Void
        /// Tells that the work is not done.
        let refuse: @Sendable () -> Void
    }

    private struct State: Sendable {
        var waiting: WorkQueue<Order>
        var isRunning = false
    }

    private let loop: EventLoop
    private let state: Lock<State>

    /// - Parameter countMax: the most pieces of work that wait.
    init(on loop: EventLoop, countMax: Int) {
        self.loop = loop
        state = Lock(State(waiting: WorkQueue(countMax: countMax)))
    }

    /// - Parameters:
    ///   - source: whose work it is.
    ///   - onDone: called on the loop's thread; nil where too much work waits, or no thread can be
    ///     had.
    func start<Result: Sendable>(
        from source: String, _ work: @escaping @Sendable () -> Result,
        onDone: @escaping @Sendable (Result?) -> Void
    ) {
        let order = Order(
            run: {
                let result = work()
                return { onDone(result) }
            },
            refuse: { onDone(nil) })
        let (refused, begins) = state.withLock { state in
            let refused = state.waiting.add(order, from: source)
            defer { state.isRunning = true }
            return (refused, !state.isRunning)
        }
        if let refused { loop.post { refused.refuse() } }
        guard begins, !launchThread({ self.run() }) else { return }
        let unstarted = state.withLock { state in
            state.isRunning = false
            return state.waiting.removeAll()
        }
        for order in unstarted { loop.post { order.refuse() } }
    }

    /// Runs the queued jobs, then ends the thread.
    private func run() {
        while true {
            let next = state.withLock { state in
                state.isRunning = !state.waiting.isEmpty
                return state.waiting.next()
            }
            guard let next else { return }
            let tell = next.run()
            loop.post { tell() }
        }
    }
}
