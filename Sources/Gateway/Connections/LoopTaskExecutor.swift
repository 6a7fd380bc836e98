/// The executor of tasks that stay on the thread of one event loop.
///
/// Without this executor, a task would resume on a thread of Swift's pool after each awaited reply,
/// and would be sent back to the event loop from there.
final class LoopTaskExecutor: TaskExecutor {
    private let executor: any SerialExecutor

    init(of executor: any SerialExecutor) { self.executor = executor }

    func enqueue(_ job: consuming ExecutorJob) { executor.enqueue(job) }
}
