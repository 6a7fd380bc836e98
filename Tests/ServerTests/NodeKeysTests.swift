import Glibc
import TLS
import Testing

@testable import Server

@Suite struct NodeKeysTests {
    private let least = [
        "--name", "n1", "--data", "d", "--gossip", "127.0.0.1:0", "--admin", "127.0.0.1:0",
    ]
    private let first = "f59aba839868c0c6c68f8f60de94dc5c56f2637c5d90eda6165766f88036b751"
    private let second = "0c97b723b032245e1ebe361d97618f356571a68540e0b39ce632cb2155b1d85e"

    private func withFile(_ key: String, _ body: (String) throws -> Void) throws {
        var path = Array("/tmp/grapevine-key-XXXXXX".utf8CString)
        let file = mkstemp(&path)
        let name = String(decoding: path.dropLast().map(UInt8.init), as: UTF8.self)
        defer { unlink(name) }
        try #require(file >= 0)
        _ = key.withCString { write(file, $0, key.utf8.count) }
        close(file)
        try body(name)
    }

    @Test func `without a file of their own clients sign in with the key of the nodes`() throws {
        try withFile(first) { nodes in
            let keys = try NodeKeys(of: NodeCommand(least + ["--key-file", nodes]))
            #expect(keys.ofNodes?.keys.map(\.text) == [first])
            #expect(keys.ofClients?.keys.map(\.text) == [first])
        }
        let none = try NodeKeys(of: NodeCommand(least))
        #expect(none.ofNodes == nil && none.ofClients == nil)
    }

    @Test func `with a file of their own they sign in with that alone`() throws {
        try withFile(first) { nodes in
            try withFile(second) { clients in
                let options = ["--key-file", nodes, "--admin-key-file", clients]
                let keys = try NodeKeys(of: NodeCommand(least + options))
                #expect(keys.ofNodes?.keys.map(\.text) == [first])
                #expect(keys.ofClients?.keys.map(\.text) == [second])
            }
        }
    }

    @Test func `a key that nodes and clients share, and a file that is not there, are refused`()
        throws
    {
        try withFile(first) { nodes in
            let shared = try NodeCommand(
                least + ["--key-file", nodes, "--admin-key-file", nodes])
            #expect(throws: NodeKeys.Unusable.self) { try NodeKeys(of: shared) }
        }
        let missing = try NodeCommand(least + ["--admin-key-file", "/nowhere/key"])
        do {
            _ = try NodeKeys(of: missing)
            Issue.record("a file that is not there was read")
        } catch {
            #expect(error.sentence.hasPrefix("--admin-key-file /nowhere/key "))
        }
    }
}
