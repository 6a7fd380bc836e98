import Gateway
import Glibc
import NetworkIO

/// A thread for work with passwords, which keeps a processor busy and memory taken for some 15 ms
/// each: there is one at a time, so that the loop keeps its processor.
final class PasswordWorker: Sendable {
    typealias OnDone = @Sendable (PasswordWork.Result?) -> Void

    private struct Order: Sendable {
        let work: PasswordWork
        let onDone: OnDone
    }

    private struct State: Sendable {
        var waiting = PasswordQueue<Order>()
        var isRunning = false
    }

    private let loop: EventLoop
    private let state = Lock(State())

    init(on loop: EventLoop) { self.loop = loop }

    /// - Parameter onDone: called on the loop's thread; nil where too much work waits, or no thread
    ///   can be had.
    func start(_ work: PasswordWork, from address: String, onDone: @escaping OnDone) {
        let (refused, begins) = state.withLock { state in
            let refused = state.waiting.add(Order(work: work, onDone: onDone), from: address)
            defer { state.isRunning = true }
            return (refused, !state.isRunning)
        }
        if let refused { loop.post { refused.onDone(nil) } }
        guard begins, !launch() else { return }
        let unstarted = state.withLock { state in
            state.isRunning = false
            return state.waiting.removeAll()
        }
        for order in unstarted { loop.post { order.onDone(nil) } }
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
                return state.waiting.next()
            }
            guard let next else { return }
            let result = next.work.run()
            loop.post { next.onDone(result) }
        }
    }
}
