import CRDT
import Chat
import TestKit
import Testing
import Wire

@testable import Node
@testable import Replication

/// A clock by which each look takes so long that every slice of a list ends with its first part.
private final class SlowClock: Clock {
    nonisolated(unsafe) private var looks: UInt64 = 0
    let milliseconds: UInt64 = 0
    let wallMilliseconds: UInt64 = 0

    var microseconds: UInt64 {
        looks += 1
        return looks * 1_000_000
    }
}

/// A shard of ten conversations whose users change them while lists are read.
private struct Busy {
    var machine: ShardMachine
    let store = MemoryStore()
    let entropy: SeededEntropy
    let clock = SlowClock()
    var operations = OperationSource(process: RandomID(high: 5, low: 5))
    var random: SplitMix64
    var number: UInt64 = 0
    var ticket: UInt64 = 0
    var hasItems = false

    init(seed: UInt64) {
        machine = ShardMachine(
            ShardID(0), of: 1, stored: ReplicaHeader(isComplete: false), ownership: .sole,
            life: 0, now: 1_000, fanOutBits: 1)
        machine.found()
        entropy = SeededEntropy(seed: seed)
        random = SplitMix64(seed: seed)
        // Once it is on disk that the replica is complete, a failed commit does not change that.
        store(completing: true)
    }

    var world: ShardWorld {
        ShardWorld(
            milliseconds: 1_000,
            judge: Judge(wallMilliseconds: 2_000 + number, editWindowMilliseconds: 900_000),
            entropy: entropy, reader: store)
    }

    private mutating func changeOfItem() -> Mutation {
        let id = ItemID(checked: "i\(random.below(10))")
        let user = UserID(checked: random.pick(["alice", "bob"]))
        let action: any ItemAction =
            switch random.below(6) {
            case 0, 1: AddItem(Item.NewItem(title: "title \(number)"))
            case 2: DeleteItem()
            case 3: EditItem(Item.Edit(title: FieldText("edited \(number)")))
            default: FinishItem(random.below(2) == 0)
            }
        return Mutation(action, on: id, by: user)
    }

    mutating func change() throws {
        number += 1
        if hasItems, random.below(2) == 0 { return submit(changeOfItem()) }
        let id = ConversationID(checked: "c\(random.below(10))")
        let message = MessageID(checked: "m\(random.below(20))")
        let user = UserID(checked: random.pick(["alice", "bob"]))
        let action: ChatAction =
            switch random.below(8) {
            case 0:
                .conversation(
                    CreateConversation(
                        participants: random.pick([[alice, UserID(checked: "bob")], [user]]),
                        title: nil))
            case 1: .conversation(LeaveConversation())
            case 2: .participant(HideChat())
            case 3: .participant(MarkRead(message))
            case 4: .message(message, RetractMessage())
            default: .message(message, SendMessage(type: .text, item: nil, text: "hello"))
            }
        submit(Mutation(action, in: id, by: user))
    }

    private mutating func submit(_ mutation: Mutation) {
        operations.observe(machine.greatestTime, at: world.judge.wall)
        let operation = Operation(mutation, operations.next(at: world.judge.wall))
        _ = try? machine.submit(
            operation, for: ReplySlot(session: 1, number: number), level: .local, in: world)
        if random.below(3) == 0 { store(completing: random.below(2) == 0) }
    }

    private mutating func store(completing: Bool) {
        ticket += 1
        if let write = machine.takeWrite(ticket) {
            store.commit([write], drops: [], settings: [], ticket: ticket)
        }
        if ticket > 1, random.below(6) == 0 {
            store.crash()
            _ = machine.onCommitFailed(now: 1_000)
            // It is back before the next slice.
            machine.onNobodyReached()
        } else if completing, let ticket = store.completeFirst() {
            _ = machine.onCommitted(ticket, now: 1_000)
        }
    }

    /// Reads a list in slices, with changes after each, and at the same moment as a whole.
    mutating func readBothWays(_ query: any ListQuery) throws -> (AnyFindings, AnyFindings) {
        let query = AnyQuery(query)
        let slot = ReplySlot(session: 2, number: number)
        guard var reading = try machine.beginReading(query, of: alice, in: world) else {
            throw ShardFailure.unsupported
        }
        var isOver = false
        while !isOver {
            let time = TurnTime(TurnTime.ofListSlice, on: clock)
            isOver = try machine.read(&reading, until: time, for: slot, in: world)
            if !isOver { for _ in 0..<random.below(3) { try change() } }
        }
        let (whole, _) = try machine.answer(query, for: alice, slot: slot, in: world)
        return (reading.findings.gathered, whole.gathered)
    }
}

@Suite struct ListReadingTests {
    /// What was read first is as old as the first slice, unless it is read again: a client that
    /// resumed from the list's token would never hear of what was sent meanwhile.
    private static let lists: [any ListQuery] = [
        ChatsQuery(.all), ChatsQuery(.active), UnreadQuery(), ContactsQuery(), ItemsQuery(),
    ]

    @Test(arguments: 0..<lists.count, 1...100)
    func aListThatIsReadInSlicesShowsOneState(_ number: Int, seed: Int) throws {
        var busy = Busy(seed: UInt64(seed))
        let query = Self.lists[number]
        busy.hasItems = query is ItemsQuery
        for _ in 0..<60 { try busy.change() }
        for _ in 0..<10 {
            let (sliced, whole) = try busy.readBothWays(query)
            #expect(sliced == whole)
            for _ in 0..<5 { try busy.change() }
        }
    }
}
