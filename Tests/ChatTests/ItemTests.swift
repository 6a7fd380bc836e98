import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct ItemTests {
    static let item = ItemID(checked: "i1")
    /// That of an item of an earlier version, which may have several owners.
    static let key = DocumentKey.sharedItem(item)

    private static func newItem(_ random: inout SplitMix64) -> Item.NewItem {
        Item.NewItem(
            title: random.pick(["buy", "sell"]),
            due: random.chance(50) ? DueTime(milliseconds: Int64(random.below(9)) - 4) : nil,
            priority: random.chance(50) ? random.pick(ItemPriority.allCases) : nil)
    }

    private static func edit(_ random: inout SplitMix64) -> Item.Edit {
        let newItem = newItem(&random)
        return Item.Edit(
            title: random.chance(70) ? newItem.title : nil, due: Clearable(newItem.due),
            priority: random.chance(50) ? Clearable(newItem.priority) : nil)
    }

    private static let laws = DocumentTests.laws(of: key) { document, writer, random in
        var author = Author(0)
        author.writer = writer
        defer { writer = author.writer }
        // Two owners, on two sides of a network partition.
        let owner = document?.item?.owner ?? random.pick([People.alice, People.bob])
        let action: any ItemAction
        switch random.below(document == nil ? 1 : 12) {
        case 0: action = AddItem(newItem(&random))
        case 1...5: action = EditItem(edit(&random))
        case 6...9: action = FinishItem(random.chance(50))
        default: action = random.chance(40) ? DeleteItem() : FinishItem(true)
        }
        let mutation = Mutation(action, on: item, by: owner)
        let judge = Judge(wallMilliseconds: 0, editWindowMilliseconds: 0)
        let isChange = try? mutation.judge(conversation: nil, target: document, by: judge)
        return isChange == true ? author.handle(action, by: owner, to: document) : document
    }

    @Test func `an action item merges as a join, any order gives the same bytes`() throws {
        try ItemTests.laws.check(seeds: 0..<1_000)
    }

    @Test func `a deletion is final, takes the texts, and wins over what did not know of it`()
        throws
    {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let added = one.add("secret plan", by: People.alice)
        let deleted = one.handle(DeleteItem(), to: added)
        let edited = other.handle(EditItem(Item.Edit(title: FieldText("edited"))), to: added)
        for merged in [deleted.merged(with: edited), edited.merged(with: deleted)] {
            #expect(merged.item?.isDeleted == true)
            #expect(merged.item?.title == "")
            #expect(!merged.encoded.holds("secret") && !merged.encoded.holds("edited"))
            #expect(merged.indexKeys == [Term.former(People.alice)] && merged.purges)
            #expect(merged.concerns(People.alice) && !merged.concerns(People.bob))
        }
        #expect(added.indexKeys == ["alice"] && !added.purges)
        let mutation = Mutation(DeleteItem(), on: ItemTests.item, by: People.bob)
        #expect(mutation.key == .item(ItemTests.item, of: People.bob))
        var author = Author(3)
        let own = author.apply(
            Mutation(AddItem(Item.NewItem(title: "t")), on: ItemTests.item, by: People.bob), to: nil
        )
        #expect(own.indexKeys == [Term.item, "bob"])
        #expect(author.apply(mutation, to: own).indexKeys == [Term.former(People.bob), Term.item])
    }

    @Test func `of two added under one id the earlier wins, and only its owner's changes count`()
        throws
    {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let alices = one.add("hers", by: People.alice)
        let bobs = other.add("his", by: People.bob)
        let gone = other.handle(DeleteItem(), by: People.bob, to: bobs)
        for merged in [alices.merged(with: gone), gone.merged(with: alices)] {
            #expect(merged.item?.owner == People.alice)
            #expect(merged.item?.title == "hers")
            #expect(merged.item?.isDeleted == false)
        }
        // Added again on the other side, and deleted there: it is one item.
        let again = other.handle(DeleteItem(), to: other.add("hers", by: People.alice))
        #expect(alices.merged(with: again).item?.isDeleted == true)
    }

    @Test func `the rules: what is missing, another's, deleted, or there already`() throws {
        var author = Author(1)
        let newItem = Item.NewItem(title: "buy", due: DueTime(milliseconds: 5), priority: .low)
        let added = author.handle(AddItem(newItem), to: nil)
        let edited = author.handle(EditItem(Item.Edit(title: FieldText("sell"))), to: added)
        let deleted = author.handle(DeleteItem(), to: edited)
        #expect(try !judge(AddItem(newItem), of: edited))
        #expect(try !judge(AddItem(Item.NewItem(title: "other")), of: deleted))
        #expect(throws: Refusal.itemExists) {
            try judge(AddItem(Item.NewItem(title: "sell")), of: edited)
        }
        #expect(throws: Refusal.itemExists) {
            try judge(AddItem(newItem), of: edited, by: People.bob)
        }
        for action in [EditItem(Item.Edit()), FinishItem(true)] as [any ItemAction] {
            #expect(throws: Refusal.itemNotFound) { try judge(action, of: nil) }
            #expect(throws: Refusal.itemNotFound) { try judge(action, of: deleted) }
            #expect(throws: Refusal.notOwner) { try judge(action, of: added, by: People.bob) }
        }
        #expect(throws: Refusal.itemNotFound) { try judge(DeleteItem(), of: nil) }
        #expect(throws: Refusal.notOwner) { try judge(DeleteItem(), of: deleted, by: People.bob) }
        #expect(try !judge(DeleteItem(), of: deleted))
        #expect(try !judge(FinishItem(false), of: added))
        #expect(try !judge(EditItem(Item.Edit(due: Clearable(newItem.due))), of: added))
        #expect(try judge(EditItem(Item.Edit(due: Clearable(nil))), of: added))
    }

    private func judge(
        _ action: any ItemAction, of target: Document?, by user: UserID = People.alice
    ) throws -> Bool {
        try Mutation(action, on: ItemTests.item, by: user).judge(
            conversation: nil, target: target,
            by: Judge(wallMilliseconds: 0, editWindowMilliseconds: 0))
    }

    @Test func `items stand by due time, those without one last, then by id`() {
        func view(_ id: String, due: Int64?) -> ItemView {
            ItemView(
                id: ItemID(checked: id), isDone: false, due: due.map(DueTime.init), priority: nil,
                chat: nil, message: nil, title: "t")
        }
        let views = [
            view("z", due: -1), view("b", due: 3), view("c", due: 3), view("a", due: nil),
            view("d", due: nil),
        ]
        #expect(views.reversed().sorted() == views)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try ItemTests.laws.golden("item") == nil)
    }
}

extension Author {
    mutating func add(_ title: String, by owner: UserID) -> Document {
        handle(AddItem(Item.NewItem(title: title)), by: owner, to: nil)
    }

    mutating func handle(
        _ action: any ItemAction, by owner: UserID = People.alice, to target: Document?
    ) -> Document {
        let document = apply(Mutation(action, on: ItemTests.item, by: owner), to: target)
        guard target == nil, let dot = document.changedBy.dots.first else { return document }
        return Document(document.content, at: ItemTests.key, by: dot)
    }
}
