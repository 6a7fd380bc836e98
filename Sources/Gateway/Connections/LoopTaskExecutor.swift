/// The executor of tasks that stay on the thread of one event loop.
///
/// A task without this executor resumes on a thread of the runtime's pool after each awaited reply,
/// and is sent back to the event loop from there.
final class LoopTaskExecutor: TaskExecutor {
    private let executor: any SerialExecutor

    init(of executor: any SerialExecutor) { self.executor = executor }

    func enqueue(_ job: consuming ExecutorJob) { executor.enqueue(job) }
}
