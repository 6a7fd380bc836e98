import Synchronization

/// The executor of one simulated machine: its actors run in the world's loop and nowhere else.
///
/// As in a process's event loop, jobs run one after another in the order in which they were
/// enqueued. Access to an actor from outside a step of its machine fails a precondition.
final class ClusterExecutor: SerialExecutor {
    private let isInside = Atomic(false)
    private let jobs = Mutex<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
        precondition(
            isInside.load(ordering: .relaxed), "work for a machine is made in its own steps")
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs one step of the machine, and all jobs that result from it.
    func run<Value>(_ step: () -> Value) -> Value {
        precondition(
            !isInside.exchange(true, ordering: .relaxed), "a step is over before the next begins")
        defer { isInside.store(false, ordering: .relaxed) }
        let value = step()
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedSerialExecutor())
        }
        return value
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    func checkIsolated() {
        precondition(isInside.load(ordering: .relaxed), "not in a step of this machine")
    }

    func isIsolatingCurrentContext() -> Bool? { isInside.load(ordering: .relaxed) }
}
