import Gateway
import Glibc
import NetworkIO

/// A thread for work with passwords, which keeps a processor busy and memory taken for some 15 ms
/// each: there is one at a time, so that the loop keeps its processor.
final class PasswordWorker: Sendable {
    typealias OnDone = @Sendable (PasswordWork.Result) -> Void

    private struct State: Sendable {
        var waiting: [(work: PasswordWork, onDone: OnDone)] = []
        var isRunning = false
    }

    /// The most sign-ins that wait: a second's work; a further one is refused.
    static let waitingMax = 64

    private let loop: EventLoop
    private let state = Lock(State())

    init(on loop: EventLoop) { self.loop = loop }

    /// - Parameter onDone: called on the loop's thread.
    /// - Returns: false where too much work waits, or no thread can be had.
    func start(_ work: PasswordWork, onDone: @escaping OnDone) -> Bool {
        let begins: Bool? = state.withLock { state in
            guard state.waiting.count < PasswordWorker.waitingMax else { return nil }
            state.waiting.append((work, onDone))
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard let begins else { return false }
        guard begins, !launch() else { return true }
        state.withLock { state in
            state.waiting.removeLast()
            state.isRunning = false
        }
        return false
    }

    private func launch() -> Bool {
        do throws(NetworkError) {
            pthread_detach(try startThread { self.run() })
            return true
        } catch {
            return false
        }
    }

    /// Does what waits, then ends the thread.
    private func run() {
        while true {
            let next = state.withLock { state in
                state.isRunning = !state.waiting.isEmpty
                return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
            }
            guard let (work, onDone) = next else { return }
            let result = work.run()
            loop.post { onDone(result) }
        }
    }
}
