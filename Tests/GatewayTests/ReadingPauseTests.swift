import Node
import NodeKit
import Placement
import Testing

@testable import Gateway

/// When the reading of a connection to the port for apps pauses.
@Suite struct ReadingPauseTests {
    private let executor: QueueExecutor
    private let world: World
    private let port: CorpusPort
    private let app: CorpusAppClient

    init() {
        let executor = QueueExecutor()
        world = World(replicas: .all, mayBlock: true, on: executor)
        let clock = world.n1.clock
        let port = CorpusPort(
            of: world.n1.node, seed: 0, keys: CorpusSigner.keySet, clock: clock, executor: executor)
        port.assumeIsolated { $0.start() }
        self.executor = executor
        self.port = port
        app = CorpusAppClient(of: port, on: executor, clock: clock, signer: CorpusSigner()) { 1 }
        settle()
    }

    private func settle() {
        var isBusy = true
        while isBusy {
            world.settle(world.n1)
            isBusy = executor.run()
            if port.assumeIsolated({ $0.giveTurns() }) { isBusy = true }
        }
    }

    @Test func `a request that is being answered pauses reading once its client sends on`() {
        app.send(#"POST /v1/conversations as=alice {"id":"c"}"#)
        #expect(!app.isReadingPaused)
        app.feed(Array("GET /v1/chats".utf8))
        #expect(app.isReadingPaused)
        settle()
        #expect(String(decoding: app.takeBytes(), as: UTF8.self).hasPrefix("HTTP/1.1 200 OK"))
        settle()
        #expect(!app.isReadingPaused)
    }
}
