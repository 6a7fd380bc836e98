import NetworkIO
import Testing

/// A value that a test waits for, with a condition and a deadline, and without sleeping.
final class Watched<State: Sendable>: Sendable {
    struct TimedOut: Error, CustomStringConvertible {
        let state: State
        var description: String { "the condition was not met in 30 seconds: \(state)" }
    }

    private struct Waiter: Sendable {
        let isMet: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<State, any Error>
    }

    private struct Contents: Sendable {
        var state: State
        var waiters: [Int: Waiter] = [:]
        var waitersMade = 0
    }

    private let contents: Lock<Contents>

    init(_ state: State) { contents = Lock(Contents(state: state)) }

    var state: State { contents.withLock { $0.state } }

    func change(_ change: (inout State) -> Void) {
        let (state, met) = contents.withLock { contents in
            change(&contents.state)
            let state = contents.state
            let met = contents.waiters.filter { $0.value.isMet(state) }
            for number in met.keys { contents.waiters[number] = nil }
            return (state, met)
        }
        for waiter in met.values { waiter.continuation.resume(returning: state) }
    }

    @discardableResult
    func wait(until isMet: @escaping @Sendable (State) -> Bool) async throws -> State {
        let number = contents.withLock { contents in
            contents.waitersMade += 1
            return contents.waitersMade
        }
        let deadline = Task {
            try await Task.sleep(for: .seconds(30))
            let (state, late) = contents.withLock { contents in
                (contents.state, contents.waiters.removeValue(forKey: number))
            }
            late?.continuation.resume(throwing: TimedOut(state: state))
        }
        defer { deadline.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            let state = contents.withLock { contents -> State? in
                if isMet(contents.state) { return contents.state }
                contents.waiters[number] = Waiter(isMet: isMet, continuation: continuation)
                return nil
            }
            if let state { continuation.resume(returning: state) }
        }
    }
}
