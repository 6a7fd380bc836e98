import Admin
import LineProtocol
import Session

/// The program that opens and closes sessions for the requests that the node itself makes.
package protocol OwnRequestHost: AnyObject, Sendable {
    /// Opens a session with the rights of an operator.
    func openSession(replyingTo output: any SessionOutput) -> Session
    func closeSession(_ session: Session)
}

/// The executor of requests that the node itself makes, such as to look up an account, with the
/// rights of an operator.
package actor OwnRequests {
    /// A sequence of requests whose responses have not all arrived.
    private struct Call {
        /// The number of responses that are still missing.
        var left: Int
        /// The object with the session token of the client's request that the sequence serves,
        /// which gets the new token after the sequence; nil if the sequence serves no client.
        let carried: CarriedToken?
        /// The latest response, unless that is the session token at the end of the sequence.
        var response = Response.done
        let continuation: CheckedContinuation<Result<Response, LineError>, Never>
    }

    private nonisolated let executor: any SerialExecutor
    private nonisolated let tasks: LoopTaskExecutor
    private nonisolated let host: any OwnRequestHost
    private var calls: [UInt64: Call] = [:]
    private var lastCall: UInt64 = 0

    package init(host: any OwnRequestHost, executor: any SerialExecutor) {
        self.host = host
        self.executor = executor
        tasks = LoopTaskExecutor(of: executor)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Starts to execute a request that this node itself makes, with the rights of an operator, and
    /// ignores the response.
    package func begin(_ request: Request) {
        Task(executorPreference: tasks) { [self] in _ = await ask([request]) }
    }

    /// Executes requests of the node itself one after the other, and returns the last response or
    /// the first error.
    ///
    /// If the current task answers a client's request, the session first accepts the client's
    /// session tokens, so that the requests read no older state than the tokens name.
    func ask(_ requests: [Request]) async -> Result<Response, LineError> {
        lastCall += 1
        let id = lastCall
        let carried = CarriedToken.current
        var requests = requests
        if let carried {
            requests = await carried.tokens.map(Request.since) + requests
            requests.append(.token)
        }
        let session = host.openSession(replyingTo: CallOutput(of: id, at: self))
        let result = await withCheckedContinuation { continuation in
            calls[id] = Call(left: requests.count, carried: carried, continuation: continuation)
            session.assumeIsolated { [requests] session in
                for request in requests { session.submit(request, nil) }
            }
        }
        // The callback of a response must not close the session, which is still executing then.
        host.closeSession(session)
        return result
    }

    func onResponse(_ response: Response, to id: UInt64) {
        guard var call = calls[id] else { return }
        if let error = response.error { return end(id, .failure(error)) }
        call.left -= 1
        if call.left == 0, let carried = call.carried {
            carried.assumeIsolated { $0.set(response) }
            return end(id, .success(call.response))
        }
        guard call.left > 0 else { return end(id, .success(response)) }
        call.response = response
        calls[id] = call
    }

    func onAbort(of id: UInt64) {
        end(id, .failure(LineError(503, "This node stops; ask another")))
    }

    private func end(_ id: UInt64, _ result: Result<Response, LineError>) {
        calls.removeValue(forKey: id)?.continuation.resume(returning: result)
    }
}

/// The receiver of the responses of a session that executes a node's own requests.
private final class CallOutput: ValueOutput {
    private unowned let requests: OwnRequests
    private let call: UInt64

    init(of call: UInt64, at requests: OwnRequests) {
        self.call = call
        self.requests = requests
    }

    func receive(_ response: Response) -> Int {
        requests.assumeIsolated { [call] in $0.onResponse(response, to: call) }
        return 0
    }

    func finish() { abort() }
    func abort() { requests.assumeIsolated { [call] in $0.onAbort(of: call) } }
}
