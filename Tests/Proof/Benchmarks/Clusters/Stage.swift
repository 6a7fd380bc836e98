import LineClient
import NetworkIO

/// The global actor of a command: all of it runs on one loop, on the thread that called `perform`.
///
/// A global actor and not a parameter: in Swift 6.3.1, a function that runs on its caller's actor
/// loses the loop of an actor with an executor of its own.
@globalActor actor Stage {
    static let shared = Stage()

    static let loop: EventLoop = {
        do throws(NetworkError) {
            return try EventLoop()
        } catch {
            preconditionFailure("a process that has just begun can make a loop: \(error)")
        }
    }()

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        Stage.loop.asUnownedSerialExecutor()
    }

    /// Runs the work to its end; to be called once in a process.
    nonisolated static func perform(
        _ work: @escaping @Stage @Sendable () async throws(BenchError) -> Int32
    ) throws(BenchError) -> Int32 {
        let outcome = Lock<Result<Int32, BenchError>?>(nil)
        Task { @Stage in
            do throws(BenchError) {
                let status = try await work()
                outcome.withLock { $0 = .success(status) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
            loop.stop()
        }
        loop.run()
        guard let result = outcome.withLock({ $0 }) else {
            throw BenchError("the event loop ended by itself")
        }
        return try result.get()
    }

    /// Suspends the caller while the loop runs.
    @Stage static func pause(milliseconds: UInt64) async {
        await withCheckedContinuation { continuation in
            _ = Timer(on: loop, afterMilliseconds: milliseconds) { continuation.resume() }
        }
    }
}

extension LineConnection {
    @Stage static func dial(_ address: SocketAddress) async throws(LineFailure) -> LineConnection {
        var answer: Result<LineConnection, LineFailure> = .failure(.closed)
        await withCheckedContinuation { continuation in
            dial(address, on: Stage.loop) { result in
                answer = result
                continuation.resume()
            }
        }
        return try answer.get()
    }

    /// Sends a line and waits for its reply.
    @Stage func ask(_ line: String) async throws(LineFailure) -> LineReply {
        let answer: Answer = await withCheckedContinuation { continuation in
            let isSent = send(line) { continuation.resume(returning: $0) }
            if !isSent { continuation.resume(returning: .failure(.closed)) }
        }
        return try answer.get()
    }
}
