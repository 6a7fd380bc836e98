import CRDT
import TestKit
import Testing
import Wire

@testable import Chat

struct MutationCodingTests {
    private static let mutations: [Mutation] =
        [
            .create(participants: People.all, title: nil),
            .create(participants: People.all, title: "The room"),
            .send(People.message, type: .voice, item: ItemID(checked: "i"), text: ""),
            .send("hello"), .edit("caf\u{E9}"), .hide, .retract, .restore, .pin,
            .unpin,
            .invite(People.carol), .leave, .archive, .unarchive, .read(nil), .read(People.message),
            .deliver(nil), .deliver(People.message),
            .hideChat, .seed(People.message, text: "hello"),
        ].map { Mutation($0, in: People.conversation, by: People.alice) } + own

    private static let items: [any ItemAction] = [
        AddItem(Item.NewItem(title: "buy")),
        AddItem(
            Item.NewItem(
                title: "buy", due: DueTime(milliseconds: -5), priority: .high,
                chat: People.conversation, message: People.message)),
        EditItem(Item.Edit(title: FieldText("sell"))),
        EditItem(Item.Edit(due: Clearable(nil), priority: Clearable(.low))),
        FinishItem(true), FinishItem(false), DeleteItem(),
    ]

    private static let own: [Mutation] = {
        let (alice, chat) = (People.alice, People.conversation)
        var all = items.map { Mutation($0, on: ItemTests.item, by: alice) }
        let edit = Profile.Edit(name: "Al", email: "", photo: nil)
        all.append(Mutation(SetProfile(edit), by: alice))
        all += DeviceTests.actions.map { Mutation($0, on: DeviceTests.id, by: alice) }
        all += CredentialsTests.actions.map {
            Mutation($0, at: CredentialsTests.address, of: alice)
        }
        all += SigningTests.actions.map { Mutation($0) }
        all += FileTests.actions.map { Mutation($0, of: FileTests.file, in: chat, by: alice) }
        let parts: [any FilePartAction] = [PutFilePart([1, 2]), PurgeFilePart()]
        all += parts.map {
            Mutation($0, on: FileTests.part, of: FileTests.file, in: chat, by: alice)
        }
        let send = SendMessage(
            type: .image, item: nil, text: "look", Attachment(FileTests.file))
        all.append(Mutation(send, of: People.message, in: chat, by: alice))
        return all
    }()

    private static let view = MessageView(
        id: People.message, from: People.alice, sentAt: HybridTimestamp(milliseconds: 7),
        type: .image, text: "look", item: ItemID(checked: "i"),
        editedAt: HybridTimestamp(milliseconds: 8), pinnedBy: People.bob,
        pinnedAt: HybridTimestamp(milliseconds: 9), isDeletedForEveryone: false,
        deletedBy: [People.carol], deliveredTo: [People.bob, People.carol], readBy: [People.bob])

    @Test func `a mutation is read as it was written`() throws {
        for mutation in Self.mutations {
            #expect(try Mutation.decode(mutation.encoded) == mutation)
        }
        #expect(Set(Self.mutations.map(\.encoded)).count == Self.mutations.count)
    }

    @Test func `views and refusals are read as they were written`() throws {
        #expect(try MessageView.decode(Self.view.encoded) == Self.view)
        let bare = MessageView(
            id: People.message, from: People.alice, sentAt: .zero, type: .text, text: "",
            item: nil, editedAt: nil, pinnedBy: nil, pinnedAt: nil, isDeletedForEveryone: true,
            deletedBy: [], deliveredTo: [], readBy: [])
        #expect(try MessageView.decode(bare.encoded) == bare)
        for refusal in Refusal.allCases { #expect(try Refusal.decode(refusal.encoded) == refusal) }
        #expect(throws: WireError.self) { try Refusal.decode([0]) }
    }

    @Test func `what no line can say is refused`() {
        let long = String(repeating: "x", count: ChatLimits.textBytesMax + 1)
        let many = (0...ChatLimits.participantsMax).map { UserID(checked: "u\(10_000 + $0)") }
        let bad: [ChatAction] = [
            .send(long), .edit(long), .create(participants: many, title: nil),
            .create(participants: [People.alice, People.bob, People.alice], title: nil),
            .create(participants: [People.bob], title: nil),
            .create(participants: [People.alice], title: long),
        ]
        for action in bad {
            let mutation = Mutation(action, in: People.conversation, by: People.alice)
            #expect(throws: WireError.self) { try Mutation.decode(mutation.encoded) }
        }
    }

    @Test func `damaged bytes never trap, and what is read is canonical`() throws {
        var random = SplitMix64(seed: 31)
        var accepted = 0
        let good = Self.mutations.map(\.encoded) + [Self.view.encoded]
        for round in 0..<40_000 {
            let index = round % good.count
            var bytes = good[index]
            bytes[random.below(bytes.count)] = UInt8(random.below(256))
            if random.chance(20) { bytes.removeLast(random.below(bytes.count)) }
            let again =
                index == good.count - 1
                ? (try? MessageView.decode(bytes))?.encoded
                : (try? Mutation.decode(bytes))?.encoded
            guard let again else { continue }
            try #require(again == bytes)
            accepted += 1
        }
        #expect(accepted > 1_000)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try GoldenBytes("mutation", of: Self.mutations.map(\.encoded)).difference() == nil)
        #expect(try GoldenBytes("message-view", of: [Self.view.encoded]).difference() == nil)
        #expect(try GoldenBytes("refusal", of: Refusal.allCases.map(\.encoded)).difference() == nil)
    }
}
