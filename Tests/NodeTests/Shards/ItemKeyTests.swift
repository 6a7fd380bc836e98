import CRDT
import Chat
import Replication
import Testing
import Wire

@testable import Node

private let bob = UserID(checked: "bob")
private let item = ItemID(checked: "i1")

/// Items under one id, of several users, and of an earlier version that kept one for all of them.
@Suite struct ItemKeyTests {
    private var driven = Driven(seed: 1)
    /// A machine of an earlier version, as far as keys go.
    private var earlier = Driven(seed: 2)

    init() { driven.machine.onPeerUp(NodeName(checked: "n2")) }

    private static func addition(_ title: String, by user: UserID) -> Mutation {
        Mutation(AddItem(Item.NewItem(title: title)), on: item, by: user)
    }

    /// Has the machine receive what a user added under the id with an earlier version.
    private mutating func receiveShared(_ title: String, by user: UserID) throws {
        earlier.submit(Self.addition(title, by: user))
        let added = try #require(earlier.model[.item(item, of: user)])
        try driven.machine.receive(
            .push(
                ShardID(0),
                [
                    EncodedDocument(
                        key: DocumentKey.sharedItem(item).encoded, bytes: added.encoded)
                ], cause: Vector()), from: NodeName(checked: "n2"), in: driven.world)
    }

    private mutating func titles(of user: UserID) throws -> [String] {
        let answer = try driven.machine.answer(
            AnyQuery(ItemsQuery()), for: user, slot: ReplySlot(session: 2, number: 1),
            in: driven.world)
        guard let items: [ItemView] = answer.findings.value() else { return [] }
        return items.map(\.title)
    }

    private mutating func refusal(of action: any ItemAction, by user: UserID) -> ShardFailure? {
        let operation = Operation(
            Mutation(action, on: item, by: user),
            driven.operations.next(at: driven.world.judge.wall))
        do throws(ShardFailure) {
            _ = try driven.machine.submit(
                operation, for: nil, level: .local, in: driven.world)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [false, true])
    mutating func `each user has an item of their own under an id`(isOnDisk: Bool) throws {
        driven.submit(Self.addition("hers", by: alice))
        if isOnDisk { driven.settle() }
        #expect(refusal(of: DeleteItem(), by: bob) == .refused(.notOwner))
        driven.submit(Self.addition("his", by: bob))
        if isOnDisk { driven.settle() }
        #expect(refusal(of: DeleteItem(), by: bob) == nil)
        #expect(try titles(of: alice) == ["hers"])
        #expect(try titles(of: bob) == [])
        let other = Mutation(FinishItem(true), on: ItemID(checked: "i2"), by: bob)
        let operation = Operation(other, driven.operations.next(at: driven.world.judge.wall))
        #expect(throws: ShardFailure.refused(.itemNotFound)) {
            try driven.machine.submit(operation, for: nil, level: .local, in: driven.world)
        }
    }

    @Test mutating func `an item of an earlier version stays its owner's, and nobody else's`()
        throws
    {
        try receiveShared("hers", by: alice)
        #expect(refusal(of: DeleteItem(), by: bob) == .refused(.notOwner))
        driven.submit(Self.addition("his", by: bob))
        driven.submit(Self.addition("hers", by: alice))
        #expect(refusal(of: EditItem(Item.Edit(title: FieldText("edited"))), by: alice) == nil)
        #expect(driven.model[.item(item, of: alice)] == nil, "it is changed where it is")
        #expect(try titles(of: alice) == ["edited"])
        #expect(try titles(of: bob) == ["his"])
        #expect(refusal(of: DeleteItem(), by: alice) == nil)
        driven.settle()
        #expect(try titles(of: alice) == [])
        #expect(refusal(of: FinishItem(true), by: alice) == .refused(.itemNotFound))
    }

    @Test mutating func `an item of today counts before one of an earlier version, deleted or not`()
        throws
    {
        driven.submit(Self.addition("of today", by: alice))
        try receiveShared("from before", by: alice)
        #expect(try titles(of: alice) == ["of today"])
        driven.settle()
        #expect(try titles(of: alice) == ["of today"])
        #expect(refusal(of: DeleteItem(), by: alice) == nil)
        #expect(try titles(of: alice) == [])
        driven.settle()
        #expect(try titles(of: alice) == [])
    }
}
