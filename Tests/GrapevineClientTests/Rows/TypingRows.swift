import Testing

@testable import GrapevineClient

/// Typing, which neither leaves nor is shown without a connection.
@Suite struct TypingRows {
    private let chat = Stage.chat

    private func typed(_ client: ModelClient) -> Int {
        client.requests.count { $0.hasSuffix("/typing") }
    }

    private func note(_ typist: String, at client: ModelClient) {
        client.core?.machines.typing.note(
            true, by: typist, in: Stage.chat, now: client.clock.elapsed)
    }

    @Test(arguments: [Link.Wish.connected, .paused(.debug), .paused(.background)])
    func `typing is sent with a connection only`(_ wish: Link.Wish) throws {
        let stage = try Stage()
        stage.alice.core?.set(wish)
        stage.alice.arm()
        try stage.run.pass(200)
        stage.alice.core?.setTyping(true, in: chat)
        try stage.run.pass(5_000)
        #expect(typed(stage.alice) == (wish == .connected ? 1 : 0))
    }

    @Test func `typing is not sent when the network is gone`() throws {
        let stage = try Stage()
        try stage.cut(stage.alice)
        stage.alice.core?.setTyping(true, in: chat)
        try stage.restore(stage.alice)
        #expect(typed(stage.alice) == 0)
    }

    @Test(arguments: [true, false]) func `who types is shown with a connection only`(
        _ isPaused: Bool
    ) throws {
        let stage = try Stage()
        note("bob", at: stage.alice)
        #expect(try stage.alice.core?.snapshot(of: chat).typingUsers == ["bob"])
        if isPaused { stage.alice.core?.set(.paused(.debug)) } else { try stage.cut(stage.alice) }
        #expect(try stage.alice.core?.snapshot(of: chat).typingUsers == [])
    }

    @Test func `a thousand changes of typing and of the network send nothing wrong`() throws {
        let stage = try Stage()
        for round in 0..<1_000 {
            let isPaused = round % 10 == 5
            if isPaused { stage.alice.core?.set(.paused(.debug)) }
            let before = typed(stage.alice)
            stage.alice.core?.setTyping(round % 3 != 0, in: chat)
            if isPaused {
                #expect(typed(stage.alice) == before)
                stage.alice.core?.set(.connected)
            }
            stage.alice.arm()
            try stage.run.pass(20)
        }
        stage.alice.core?.setTyping(false, in: chat)
        try stage.settle()
        #expect(typed(stage.alice) > 0 && stage.alice.allViolations.isEmpty)
    }

    @Test func `each decision about typing is logged with the state of the connection`() throws {
        let stage = try Stage()
        var entries: [String] = []
        stage.alice.core?.logger = { entries.append($0.text) }
        stage.alice.core?.setTyping(true, in: chat)
        stage.alice.core?.set(.paused(.debug))
        stage.alice.core?.setTyping(true, in: chat)
        let told = entries.filter { $0.hasPrefix("typing") }
        #expect(told.count == 2)
        #expect(told.first == "typing conversation=lunch on=true sent=true connection=online")
        #expect(told.last?.contains("sent=false connection=paused") == true)
    }
}
