import NetworkIO
import TLS
import Testing

@testable import Server

@Suite struct ClientKeysTests {
    private let old = String(repeating: "o", count: 40)
    private let next = String(repeating: "n", count: 40)

    private func ring(_ first: String, _ second: String? = nil) throws -> KeyRing {
        KeyRing(try #require(Key(first)), try second.map { try #require(Key($0)) })
    }

    @Test func `either key of the file signs in, and nothing else`() throws {
        let signedIn = Lock<[UInt64]>([])
        let refused = Lock<[UInt64]>([])
        let authPolicy = ClientKeys(
            try ring(old, next), onSignIn: { id in signedIn.withLock { $0.append(id) } },
            onRefusal: { id in refused.withLock { $0.append(id) } })
        #expect(authPolicy.admits(old, as: 1))
        #expect(authPolicy.admits(next, as: 2))
        for secret in ["", "o", old + "o", String(old.dropLast()) + "p"] {
            #expect(!authPolicy.admits(secret, as: 3))
        }
        #expect(signedIn.withLock { $0 } == [1, 2])
        #expect(refused.withLock { $0 } == [3, 3, 3, 3])
    }

    @Test func `a key that is taken away takes its sessions with it`() throws {
        let authPolicy = ClientKeys(try ring(old), onSignIn: { _ in }, onRefusal: { _ in })
        #expect(authPolicy.admits(old, as: 1))
        #expect(authPolicy.admits(old, as: 2))
        #expect(authPolicy.change(to: try ring(old, next)) == [])
        #expect(authPolicy.admits(next, as: 3))
        #expect(authPolicy.change(to: try ring(next, old)) == [])
        authPolicy.onClosed(2)
        #expect(authPolicy.change(to: try ring(next)) == [1])
        #expect(!authPolicy.admits(old, as: 4))
        #expect(authPolicy.admits(next, as: 4))
    }
}
