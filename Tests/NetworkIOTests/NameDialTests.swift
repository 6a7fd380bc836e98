import Foundation
import Testing

@testable import NetworkIO

/// Dials of hosts by name; the tests decide what a name resolves to.
@Suite struct NameDialTests {
    private let unknown = NetworkError.unresolved("n1", "Name or service not known")

    /// Dials a name, and returns the error; nil for a connection.
    private func dial(
        _ text: String, on loop: EventLoop, timeoutMilliseconds: UInt64 = 5_000
    ) async throws -> NetworkError? {
        let endpoint = try #require(Endpoint(text))
        return await withCheckedContinuation { continuation in
            loop.post {
                Connection.dial(endpoint, on: loop, timeoutMilliseconds: timeoutMilliseconds) {
                    switch $0 {
                    case .success(let connection):
                        connection.close()
                        continuation.resume(returning: nil)
                    case .failure(let error): continuation.resume(returning: error)
                    }
                }
            }
        }
    }

    @Test func `a name leads to where its address does`() async throws {
        try await withLoop { loop in
            let address = try await loop.listen { $0.close() }
            try await loop.perform {
                loop.lookups = NameLookups { name, port in
                    name == "n1" && port == address.port
                        ? .success([address]) : .failure(.unresolved(name, "no"))
                }
            }
            #expect(try await dial("n1:\(address.port)", on: loop) == nil)
        }
    }

    @Test func `of several addresses the first that answers is taken`() async throws {
        try await withLoop { loop in
            let address = try await loop.listen { $0.close() }
            let silent = try await loop.perform {
                try Listener(try loopback(0), on: loop).address
            }
            try await loop.perform {
                loop.lookups = NameLookups { _, _ in .success([silent, silent, address]) }
            }
            #expect(try await dial("n1:1", on: loop) == nil)
            try await loop.perform {
                loop.lookups = NameLookups { _, _ in .success([silent, silent]) }
            }
            #expect(try await dial("n1:1", on: loop) == .refused)
        }
    }

    @Test func `a name that leads nowhere is a failed dial`() async throws {
        try await withLoop { loop in
            try await loop.perform { [unknown] in
                loop.lookups = NameLookups { _, _ in .failure(unknown) }
            }
            #expect(try await dial("n1:7101", on: loop) == unknown)
        }
    }

    @Test func `a silent name server holds up the dial and nothing else`() async throws {
        let asked = Watched(0)
        let latch = Latch()
        try await withLoop { loop in
            let address = try await loop.listen { $0.close() }
            try await loop.perform {
                loop.lookups = NameLookups { _, _ in
                    asked.change { $0 += 1 }
                    latch.wait()
                    return .success([address])
                }
            }
            #expect(try await dial("n1:7101", on: loop, timeoutMilliseconds: 20) == .timedOut)
            // Its lookup is running already.
            #expect(try await dial("n1:7101", on: loop, timeoutMilliseconds: 20) == .timedOut)
            #expect(try await dial(address.description, on: loop) == nil)
            #expect(asked.state == 1)
            latch.open()
            #expect(try await dial("n1:7101", on: loop) == nil)
        }
    }

    @Test func `a loop stops while a name server is silent`() async throws {
        let latch = Latch()
        let failures = Watched<[NetworkError]>([])
        let thread = try LoopThread()
        let loop = thread.loop
        let endpoint = try #require(Endpoint("n1:7101"))
        try await loop.perform {
            loop.lookups = NameLookups { _, _ in
                latch.wait()
                return .success([])
            }
            Connection.dial(endpoint, on: loop, timeoutMilliseconds: 60_000) { result in
                if case .failure(let error) = result { failures.change { $0.append(error) } }
            }
            loop.stop()
        }
        thread.join()
        #expect(failures.state.count == 1)
        latch.open()
    }

    @Test func `no more names than a few are looked up at once`() async throws {
        let latch = Latch()
        try await withLoop { loop in
            try await loop.perform {
                loop.lookups = NameLookups { name, _ in
                    latch.wait()
                    return .failure(.unresolved(name, "no"))
                }
            }
            let answers = Watched<[NetworkError]>([])
            try await loop.perform {
                for number in 0...NameLookups.underwayMax {
                    guard let endpoint = Endpoint("n\(number).example:1") else { continue }
                    Connection.dial(endpoint, on: loop, timeoutMilliseconds: 600_000) { result in
                        if case .failure(let error) = result {
                            answers.change { $0.append(error) }
                        }
                    }
                }
            }
            let first = try await answers.wait { !$0.isEmpty }
            #expect(
                first == [
                    .unresolved(
                        "n\(NameLookups.underwayMax).example",
                        "too many names are being looked up")
                ])
            latch.open()
            _ = try await answers.wait { $0.count == NameLookups.underwayMax + 1 }
        }
    }

    @Test func `the system is asked, and what it says is told`() throws {
        let address = try loopback(7_101)
        // A numeric address is a name that every resolver knows.
        #expect(NameLookups.ask("127.0.0.1", 7_101) == .success([address]))
        guard case .failure(.unresolved("a b", _)) = NameLookups.ask("a b", 1) else {
            Issue.record("a name with a space leads nowhere")
            return
        }
    }
}

/// A latch that blocks threads until it is opened.
private final class Latch: Sendable {
    private let condition = NSCondition()
    private let isOpen = Lock(false)

    func open() {
        isOpen.withLock { $0 = true }
        condition.lock()
        condition.broadcast()
        condition.unlock()
    }

    func wait() {
        condition.lock()
        while !isOpen.withLock({ $0 }) { condition.wait() }
        condition.unlock()
    }
}
