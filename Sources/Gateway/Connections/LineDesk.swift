import CRDT
import LineProtocol
import Session

/// The lines that a node asks for itself, as an operator would.
package actor LineDesk {
    private nonisolated let executor: any SerialExecutor
    private nonisolated let tasks: LoopTaskExecutor
    private nonisolated let host: any OwnRequestHost
    private var calls: [UInt64: LineCall] = [:]
    private var lastCall: UInt64 = 0

    package init(host: any OwnRequestHost, executor: any SerialExecutor) {
        self.host = host
        self.executor = executor
        tasks = LoopTaskExecutor(of: executor)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Has the node answer lines, whose replies nobody waits for.
    package func begin(_ lines: [String]) {
        Task(executorPreference: tasks) { [self] in _ = await ask(lines) }
    }

    /// Has the node answer lines; the reply to the last one is returned, or the first error.
    ///
    /// Where the task answers a request, the lines are answered as of the request's token.
    func ask(_ lines: [String]) async -> LineCall.Result {
        lastCall += 1
        let id = lastCall
        let carried = CarriedToken.current
        var lines = lines
        if let carried {
            if let token = await carried.token {
                lines.insert("SINCE \(token.text)", at: 0)
            }
            lines.append("TOKEN")
        }
        let session = host.openSession(replyingTo: LineCallOutput(of: id, at: self))
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        let result = await withCheckedContinuation { continuation in
            calls[id] = LineCall(of: lines.count, carrying: carried, continuation)
            bytes.withUnsafeBytes { bytes in
                // SAFETY: the session reads the bytes during this call, on the loop's thread, only.
                nonisolated(unsafe) let bytes = bytes
                session.assumeIsolated { $0.onBytes(bytes) }
            }
        }
        // Not by the reply itself: the session is still writing then.
        host.closeSession(session)
        return result
    }

    /// Handles what the session of a call writes.
    func onReply(_ bytes: [UInt8], to call: UInt64) {
        if calls[call]?.onBytes(bytes) ?? false { calls[call] = nil }
    }

    func onAbort(of call: UInt64) {
        calls.removeValue(forKey: call)?.end(
            .failure(LineError(503, "This node stops; ask another")))
    }
}
