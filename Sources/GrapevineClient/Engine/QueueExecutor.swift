import Dispatch

/// The executor of an actor that runs on a queue, so that callbacks on the queue are on the actor.
final class QueueExecutor: SerialExecutor {
    let queue: DispatchQueue

    init(_ label: String) { queue = DispatchQueue(label: label, qos: .userInitiated) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = asUnownedSerialExecutor()
        queue.async { job.runSynchronously(on: executor) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// A value that is used only on the queue of the client.
// SAFETY: callbacks that carry it are delivered on the queue, where it was made.
struct OnQueue<Value>: @unchecked Sendable {
    let value: Value
}
