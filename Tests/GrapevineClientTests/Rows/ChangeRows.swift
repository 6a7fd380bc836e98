import Foundation
import Testing

@testable import GrapevineClient
@testable import struct GrapevineClient.Operation

/// What a change shows before and after it is answered.
@Suite struct ChangeRows {
    private let chat = Stage.chat

    @Test func `a deletion is seen by all devices of the user, and by nobody else`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1", "b2")
        try stage.alice.act(.delete(conversation: chat, message: "b1"))
        try stage.settle()
        #expect(try stage.ids(stage.tablet) == ["b2"])
        #expect(try stage.ids(stage.bob) == ["b1", "b2"])
        try stage.alice.act(.deleteForEveryone(conversation: chat, message: "b2"))
        try stage.settle()
        #expect(try stage.ids(stage.tablet).isEmpty)
        #expect(try stage.texts(stage.bob) == ["text of b1", Message.deletedText])
    }

    @Test func `a deletion is shown before any answer, over records that stay as they are`() throws
    {
        let stage = try Stage()
        try stage.send(stage.alice, "b1", "b2")
        let stored = try stage.alice.core?.store.messages(in: chat)
        let requests = stage.alice.requests.count
        stage.alice.mute()
        try stage.alice.act(.delete(conversation: chat, message: "b1"))
        try stage.alice.act(.deleteForEveryone(conversation: chat, message: "b2"))
        #expect(try stage.ids(stage.alice).isEmpty)
        #expect(try stage.alice.core?.store.messages(in: chat) == stored)
        #expect(stage.alice.requests.count == requests)
    }

    @Test func `an answer ends the waiting, and what was shown stays`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1")
        try stage.alice.act(.edit(conversation: chat, message: "b1", text: "new"))
        let shown = try stage.texts(stage.alice)
        #expect(shown == ["new"] && stage.waiting(stage.alice) == 1)
        try stage.run.pass(100)
        #expect(stage.waiting(stage.alice) == 0)
        #expect(try stage.texts(stage.alice) == shown)
    }

    @Test func `a refused change is taken back exactly, and told once`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "a1")
        let before = try stage.messages(stage.alice)
        var told: [Result<Void, GrapevineError>] = []
        // The nodes of the model refuse to pin a message whose id begins so.
        try stage.alice.core?.act(.pin(conversation: chat, message: "a1")) { told.append($0) }
        stage.alice.arm()
        #expect(try stage.messages(stage.alice).map(\.isPinned) == [true])
        try stage.settle()
        #expect(try stage.messages(stage.alice) == before)
        #expect(told.count == 1 && stage.alice.refused.count == 1)
        #expect(throws: GrapevineError.self) { try told[0].get() }
        #expect(stage.alice.refusals.map(\.messageId) == ["a1"])
    }

    @Test func `a refusal keeps what arrived meanwhile, in other messages and in the same one`()
        throws
    {
        let stage = try Stage()
        try stage.send(stage.alice, "b1")
        try stage.cut(stage.alice)
        try stage.alice.act(
            .edit(conversation: chat, message: "b1", text: "forbidden by the model"))
        try stage.bob.act(.pin(conversation: chat, message: "b1"))
        try stage.send(stage.bob, "b2")
        try stage.restore(stage.alice)
        #expect(try stage.texts(stage.alice) == ["text of b1", "text of b2"])
        #expect(try stage.messages(stage.alice).map(\.isPinned) == [true, false])
        let refusal = stage.alice.refusals.first
        #expect(refusal?.text == "forbidden by the model" && refusal?.error.code == 403)
    }

    @Test func `refusals are told until the app comes back for more`() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "refusals-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let store = try Store(path: folder.appending(path: "alice.sqlite").path)
        let signIn = SignIn(
            user: "alice", email: "a@x", accessToken: "A", refreshToken: "R", seconds: 600, now: 0)
        let refused = [UInt64(1), 2].map { number in
            let pin = Action.pin(conversation: chat, message: "m\(number)")
            let operation = Operation(number: number, action: pin, created: 1)
            return StoreChange.refusal(Refusal(operation, .notSender), number: number)
        }
        try store.commit([.signIn(signIn)] + refused)
        let node = try #require(URL(string: "http://127.0.0.1:1"))

        for isLast in [false, true] {
            let client = try await GrapevineClient.open(nodes: [node], directory: folder)
            let ended = Task {
                while !Task.isCancelled { await Task.yield() }
                return await client.messaging.refusals.first { _ in true }
            }
            ended.cancel()
            #expect(await ended.value == nil)
            var refusals = client.messaging.refusals.makeAsyncIterator()
            #expect(await refusals.next()?.map(\.messageId) == ["m1", "m2"])
            let others = Task { await client.messaging.refusals.first { _ in true } }
            if isLast {
                let more = Task { [refusals] in
                    var refusals = refusals
                    return await refusals.next()
                }
                while try !store.refusals().isEmpty { await Task.yield() }
                more.cancel()
                #expect(await more.value == nil)
            }
            others.cancel()
            #expect(await others.value == nil)
            await client.suspend()
            #expect(try store.refusals().isEmpty == isLast)
        }
    }

    @Test func `an older state does not overwrite a waiting change, other fields arrive`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1")
        for node in stage.run.cluster.nodes { node.stop() }
        try stage.alice.act(.delete(conversation: chat, message: "b1"))
        #expect(try stage.ids(stage.alice).isEmpty)
        try stage.run.pass(5_000)
        for node in stage.run.cluster.nodes { node.goOn() }
        try stage.settle()
        #expect(try stage.ids(stage.alice).isEmpty)
        #expect(try stage.ids(stage.bob) == ["b1"])
    }

    @Test(arguments: [["b1"], ["b3"], ["b2"], ["b2", "b3"], ["b1", "b2", "b3"]])
    func `any message can be deleted, and several in a row`(_ deleted: [String]) throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1", "b2", "b3")
        for id in deleted { try stage.alice.act(.delete(conversation: chat, message: id)) }
        let left = ["b1", "b2", "b3"].filter { !deleted.contains($0) }
        #expect(try stage.ids(stage.alice) == left)
        try stage.settle()
        #expect(try stage.ids(stage.alice) == left)
    }

    @Test func `many deletions in a row are all executed`() throws {
        let stage = try Stage()
        let ids = (0..<60).map { "b\($0)" }
        for id in ids { try stage.alice.act(Stage.send(id)) }
        for id in ids { try stage.alice.act(.delete(conversation: chat, message: id)) }
        for _ in 0..<40 where stage.waiting(stage.alice) > 0 { try stage.settle() }
        #expect(stage.waiting(stage.alice) == 0)
        #expect(try stage.ids(stage.alice).isEmpty)
        #expect(try stage.ids(stage.tablet).isEmpty)
    }

    @Test func `the user's own change is told once, and its echo changes nothing`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1")
        try stage.alice.act(.pin(conversation: chat, message: "b1"))
        try stage.run.pass(100)
        let answered = try stage.alice.core?.snapshot(of: chat)
        try stage.settle()
        #expect(try stage.alice.core?.snapshot(of: chat) == answered)
    }

    @Test func `every change makes another view`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1")
        let changes: [Action] = [
            .edit(conversation: chat, message: "b1", text: "new"),
            .pin(conversation: chat, message: "b1"), .unpin(conversation: chat, message: "b1"),
            .delete(conversation: chat, message: "b1"),
            .restore(conversation: chat, message: "b1"),
            .deleteForEveryone(conversation: chat, message: "b1"),
        ]
        for change in changes {
            let before = try stage.alice.core?.snapshot(of: chat)
            _ = stage.alice.takeTouched()
            try stage.alice.act(change)
            #expect(try stage.alice.core?.snapshot(of: chat) != before, "\(change)")
            #expect(stage.alice.takeTouched() == [chat], "\(change)")
        }
    }

    @Test func `what this device can judge is refused before anything is stored or sent`() throws {
        let stage = try Stage()
        try stage.send(stage.bob, "b1")
        let requests = stage.alice.requests.count
        let refused: [(Action, Int)] = [
            (.edit(conversation: chat, message: "b1", text: "x"), 403),
            (.deleteForEveryone(conversation: chat, message: "b1"), 403),
            (.delete(conversation: chat, message: "b9"), 404),
            (.edit(conversation: chat, message: "b1", text: " \n\t"), 400),
        ]
        for (action, code) in refused {
            let error = #expect(throws: GrapevineError.self) { try stage.alice.act(action) }
            #expect(error?.code == code, "\(action)")
        }
        #expect(stage.waiting(stage.alice) == 0 && stage.alice.requests.count == requests)
    }
}
