import TestKit

@testable import GrapevineClient

/// Two devices of alice's and one of bob's at a cluster of three nodes, whose network works unless
/// a test cuts it: for what the requirements say row by row.
final class Stage {
    static let chat = "lunch"

    let run: ModelRun
    let alice: ModelClient
    let tablet: ModelClient
    let bob: ModelClient

    init() throws {
        run = try ModelRun(seed: 1)
        (alice, bob, tablet) = (run.clients[0], run.clients[1], run.clients[2])
        for client in run.clients { try client.start(run.conversations) }
        try run.pass(1_000)
    }

    /// Waits until all nodes and devices know all.
    func settle() throws {
        for _ in 0..<6 {
            run.cluster.replicate()
            try run.pass(500)
        }
    }

    /// Has a device send messages, and waits until everybody has them.
    func send(_ client: ModelClient, _ ids: String...) throws {
        for id in ids { try client.act(Self.send(id)) }
        try settle()
    }

    static func send(_ id: String) -> Action {
        .send(conversation: chat, message: id, Action.Draft(text: "text of \(id)"))
    }

    func messages(_ client: ModelClient) throws -> [Message] {
        try client.core?.snapshot(of: Self.chat).messages ?? []
    }

    func ids(_ client: ModelClient) throws -> [String] { try messages(client).map(\.id) }

    func texts(_ client: ModelClient) throws -> [String] { try messages(client).map(\.text) }

    func row(_ client: ModelClient) throws -> Conversation? { try client.core?.listed(Self.chat) }

    func waiting(_ client: ModelClient) -> Int {
        client.core?.machines.outbox.operations.count ?? 0
    }

    /// Cuts the network of a device, until it has noticed.
    func cut(_ client: ModelClient) throws {
        client.line.isUp = false
        try run.pass(12_000)
    }

    func restore(_ client: ModelClient) throws {
        client.line.isUp = true
        client.core?.retry()
        client.arm()
        try settle()
    }

    /// Ends an app without warning, and starts it again.
    func restart(_ client: ModelClient) throws {
        client.crash()
        try client.start(run.conversations)
    }
}
