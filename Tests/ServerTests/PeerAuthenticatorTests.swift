import Foundation
import NetworkIO
import TLS
import Testing

@testable import Server

/// An authenticator on a loop of its own, in front of an echo server.
private final class Guarded: Sendable {
    /// The objects that live on the loop's thread.
    private final class Place {
        var authenticator: PeerAuthenticator?
        var listener: Listener?
    }

    private final class Echo: ConnectionDelegate {
        let heard: Lock<[UInt8]>

        init(_ heard: Lock<[UInt8]>) { self.heard = heard }

        func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
            let copy = [UInt8](bytes)
            heard.withLock { $0 += copy }
            connection.write(bytes)
        }

        func connectionDidReachEnd(_ connection: Connection) { connection.closeAfterFlush() }
        func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}
        func connectionDidClose(_ connection: Connection, error: NetworkError?) {}
    }

    let thread: LoopThread
    let address: SocketAddress
    let heard = Lock<[UInt8]>([])
    let lines = Lock<[String]>([])
    private let place: UncheckedPlace

    /// Accessed on the loop's thread only.
    private struct UncheckedPlace: Sendable {
        nonisolated(unsafe) let place = Place()
    }

    init(_ keys: KeyRing, handshakesMax: Int = 256, milliseconds: UInt64 = 20_000) throws {
        thread = try LoopThread()
        let loop = thread.loop
        let anyPort = try #require(SocketAddress("127.0.0.1:0"))
        let place = UncheckedPlace()
        self.place = place
        let (lines, heard) = (lines, heard)
        let found = Lock<SocketAddress?>(nil)
        let isReady = DispatchSemaphore(value: 0)
        loop.post {
            let authenticator = PeerAuthenticator(
                keys, on: loop, handshakesMax: handshakesMax,
                handshakeMillisecondsMax: milliseconds
            ) { line in lines.withLock { $0.append(line) } }
            do {
                let listener = try Listener(anyPort, on: loop)
                try listener.start { connection in
                    authenticator.admit(connection, dialed: nil) { result in
                        if case .success = result { connection.delegate = Echo(heard) }
                    }
                }
                found.withLock { $0 = listener.address }
                (place.place.authenticator, place.place.listener) = (authenticator, listener)
            } catch {
                lines.withLock { $0.append("\(error)") }
            }
            isReady.signal()
        }
        isReady.wait()
        address = try #require(found.withLock { $0 })
    }

    /// Waits until the loop has finished its turn: closes are reported at a turn's very end, and a
    /// timer fires in the next turn.
    func settle() {
        let loop = thread.loop
        let isDone = DispatchSemaphore(value: 0)
        loop.post { _ = NetworkIO.Timer(on: loop, afterMilliseconds: 0) { isDone.signal() } }
        isDone.wait()
    }

    func change(to keys: KeyRing) {
        let place = place
        thread.loop.post { place.place.authenticator?.change(to: keys) }
        settle()
    }

    var logged: [String] {
        settle()
        return lines.withLock { $0 }
    }

    func end() { thread.join() }
}

@Suite struct PeerAuthenticatorTests {
    private func ring(_ first: String, _ second: String? = nil) throws -> KeyRing {
        let keys = try [first, second].compactMap { $0 }.map { digit in
            try #require(Key(String(repeating: digit, count: 64)))
        }
        return KeyRing(keys[0], keys.dropFirst().first)
    }

    private func withAuthenticator(
        _ guarded: Guarded, _ body: (Guarded) throws -> Void
    ) throws {
        defer { guarded.end() }
        try body(guarded)
    }

    @Test(arguments: [1, 7, .max])
    func `who knows the key is let in, however its bytes arrive`(_ stepBytes: Int) throws {
        try withAuthenticator(Guarded(ring("a"))) { guarded in
            let caller = try Caller(to: guarded.address)
            let tls = TLSContext(try ring("a")).dialling()
            _ = try caller.prove(by: tls, stepBytes: stepBytes)
            #expect(try caller.echo("hello", by: tls) == "hello")
            #expect(guarded.logged == [])
        }
    }

    @Test func `plain text and junk are refused, and logged once a peer`() throws {
        try withAuthenticator(Guarded(ring("a"))) { guarded in
            for words in ["PING\n", "GET / HTTP/1.1\r\n\r\n", "\0\0\0\0"] {
                for _ in 0..<3 {
                    let caller = try Caller(to: guarded.address)
                    caller.say(Array(words.utf8))
                    #expect(caller.isHungUpOn())
                }
            }
            #expect(
                guarded.logged == [
                    "peer refused: it does not encrypt; a node of this cluster is started with "
                        + "its --key-file from=127.0.0.1"
                ])
            let caller = try Caller(to: guarded.address)
            caller.say([22, 3, 1, 0, 4, 1, 2, 3, 4])
            #expect(caller.isHungUpOn())
            #expect(guarded.logged.count == 2)
            #expect(guarded.heard.withLock { $0 } == [])
        }
    }

    @Test func `another key is refused with a word about it at both ends`() throws {
        try withAuthenticator(Guarded(ring("a"))) { guarded in
            for _ in 0..<3 {
                let caller = try Caller(to: guarded.address)
                let tls = TLSContext(try ring("b")).dialling()
                #expect(throws: HandshakeError.wrongKey) { try caller.prove(by: tls) }
                #expect(caller.isHungUpOn())
            }
            let line = try #require(guarded.logged.first)
            #expect(line.hasPrefix("peer refused: it has another key; give every node the same"))
            #expect(guarded.logged.count == 1)
            // A peer that succeeds and fails again is logged again.
            let tls = TLSContext(try ring("a")).dialling()
            _ = try Caller(to: guarded.address).prove(by: tls)
            guarded.settle()
            let caller = try Caller(to: guarded.address)
            #expect(throws: HandshakeError.wrongKey) {
                try caller.prove(by: TLSContext(try ring("b")).dialling())
            }
            #expect(caller.isHungUpOn())
            #expect(guarded.logged.count == 2)
        }
    }

    @Test func `a recorded connection that is played again is refused, unheard`() throws {
        try withAuthenticator(Guarded(ring("a"))) { guarded in
            let caller = try Caller(to: guarded.address)
            let tls = TLSContext(try ring("a")).dialling()
            var recorded = try caller.prove(by: tls)
            try Array("FORGET n2".utf8).withUnsafeBytes { try tls.seal($0) }
            tls.takeWire { recorded += $0 }
            let player = try Caller(to: guarded.address)
            player.say(recorded)
            #expect(player.isHungUpOn())
            #expect(guarded.heard.withLock { $0 } == [])
            #expect(guarded.logged.count == 1)
        }
    }

    @Test func `who stops in the middle of a handshake is given up in time`() throws {
        try withAuthenticator(Guarded(ring("a"), milliseconds: 30)) { guarded in
            let silent = try Caller(to: guarded.address)
            let halting = try Caller(to: guarded.address)
            halting.say([22, 3, 1])
            #expect(silent.isHungUpOn())
            #expect(halting.isHungUpOn())
            let why = "it did not finish the handshake in time"
            #expect(guarded.logged.map { $0.contains(why) } == [true])
        }
    }

    @Test func `strangers who wait for nothing do not keep a node out`() throws {
        try withAuthenticator(Guarded(ring("a"), handshakesMax: 4)) { guarded in
            var silent: [Caller] = []
            for _ in 0..<12 { silent.append(try Caller(to: guarded.address)) }
            let caller = try Caller(to: guarded.address)
            let tls = TLSContext(try ring("a")).dialling()
            _ = try caller.prove(by: tls)
            #expect(try caller.echo("hello", by: tls) == "hello")
            for unauthenticated in silent.prefix(9) { #expect(unauthenticated.isHungUpOn()) }
            // Nobody can correct anything about a connection that was closed for a newer one.
            #expect(guarded.logged == [])
        }
    }

    @Test func `with a key go the connections that were made with it, and no others`() throws {
        try withAuthenticator(Guarded(ring("a"))) { guarded in
            let old = try Caller(to: guarded.address)
            let oldTLS = TLSContext(try ring("a")).dialling()
            _ = try old.prove(by: oldTLS)
            guarded.change(to: try ring("a", "b"))
            let next = try Caller(to: guarded.address)
            let nextTLS = TLSContext(try ring("b", "a")).dialling()
            _ = try next.prove(by: nextTLS)
            guarded.change(to: try ring("b", "a"))
            #expect(try old.echo("still", by: oldTLS) == "still")
            guarded.change(to: try ring("b"))
            #expect(old.isHungUpOn())
            #expect(try next.echo("here", by: nextTLS) == "here")
            #expect(throws: HandshakeError.wrongKey) {
                try Caller(to: guarded.address).prove(by: TLSContext(try ring("a")).dialling())
            }
        }
    }
}
