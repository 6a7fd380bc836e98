import TestKit
import Testing
import Wire

@testable import CRDT

struct ObservedRemoveSetTests {
    typealias Users = ObservedRemoveSet<UserID>

    /// The definition of the set: every operation executed anywhere, and what each remove had seen.
    ///
    /// An add is live unless a remove that had seen it took it away, or a later operation of its
    /// process on the same element is known.
    struct Model: Hashable, Sendable {
        struct Operation: Hashable, Sendable {
            let user: UserID
            let stamp: Stamp
        }

        var adds: Set<Operation> = []
        var removes: Set<Operation> = []
        var takenAway: Set<Operation> = []

        private func live(_ user: UserID) -> [Operation] {
            adds.subtracting(takenAway).filter { add in
                add.user == user
                    && !adds.union(removes).contains {
                        $0.user == user && $0.stamp.process == add.stamp.process
                            && $0.stamp.counter > add.stamp.counter
                    }
            }
        }

        var elements: [UserID] { Set(adds.map(\.user)).filter { !live($0).isEmpty }.sorted() }

        mutating func insert(_ operation: Operation) { adds.insert(operation) }

        mutating func remove(_ operation: Operation) {
            removes.insert(operation)
            takenAway.formUnion(
                live(operation.user).filter {
                    $0.stamp.process != operation.stamp.process
                        && $0.stamp.time < operation.stamp.time
                })
        }

        mutating func merge(_ other: Model) {
            adds.formUnion(other.adds)
            removes.formUnion(other.removes)
            takenAway.formUnion(other.takenAway)
        }
    }

    private struct Pair: Hashable, Sendable {
        var set = Users()
        var model = Model()
        /// All operations ever issued, which may be executed again, late, on any replica.
        var issued: [Issued] = []

        struct Issued: Hashable, Sendable {
            let operation: Model.Operation
            let isAdd: Bool
        }

        mutating func execute(_ issued: Issued) {
            let (user, stamp) = (issued.operation.user, issued.operation.stamp)
            if issued.isAdd {
                guard set.standing(ofAdding: user, by: stamp) == .new else { return }
                set.insert(user, by: stamp)
                model.insert(issued.operation)
            } else {
                guard set.standing(ofRemoving: user, by: stamp) == .new else { return }
                set.remove(user, by: stamp)
                model.remove(issued.operation)
            }
        }
    }

    private static let users = ["alice", "bob", "carol"].map { UserID(checked: $0) }

    private static func stamp(_ process: UInt64, _ counter: UInt64, at time: UInt64) -> Stamp {
        Stamp(
            time: HybridTimestamp(milliseconds: time), process: RandomID(high: 0, low: process),
            counter: counter)
    }

    @Sendable
    private static func mutated(
        _ set: Users?, _ writer: inout Writer, _ random: inout SplitMix64
    ) -> Users {
        var set = set ?? Users()
        let user = random.pick(users)
        if random.chance(60) {
            set.insert(user, by: writer.nextStamp())
        } else {
            let unsettled = ProcessCounter(
                process: writer.replica, counter: UInt64(1 + random.below(9)))
            set.remove(user, by: writer.nextStamp(), after: random.chance(20) ? [unsettled] : [])
        }
        return set
    }

    private static let laws = Laws<Users>(
        merge: { $0.merge($1) }, encode: \.encoded, decode: { try Users.decode($0) },
        greatestTime: \.greatestTime, mutate: mutated)

    @Test func `merging is a join, and any order gives the same bytes`() throws {
        try ObservedRemoveSetTests.laws.check(seeds: 0..<1_500)
    }

    @Test func `it equals a model of all operations, executed once, twice, late or not at all`()
        throws
    {
        let laws = Laws<Pair>(
            merge: {
                $0.set.merge($1.set)
                $0.model.merge($1.model)
                $0.issued = Array(Set($0.issued + $1.issued))
                    .sorted { $0.operation.stamp < $1.operation.stamp }
            },
            encode: \.set.encoded, decode: { Pair(set: try Users.decode($0)) },
            mutate: { pair, writer, random in
                var pair = pair ?? Pair()
                if random.chance(30), !pair.issued.isEmpty {
                    pair.execute(random.pick(pair.issued))
                    return pair
                }
                // No clock observes another one, so times disagree with what was seen.
                let issued = Pair.Issued(
                    operation: Model.Operation(
                        user: random.pick(ObservedRemoveSetTests.users),
                        stamp: writer.nextStamp()),
                    isAdd: random.chance(60))
                pair.issued.append(issued)
                if random.chance(80) { pair.execute(issued) }
                return pair
            })
        for pair in try laws.states(seeds: 0..<1_500) {
            let elements = pair.model.elements
            try #require(pair.set.elements == elements)
            try #require(pair.set.count == elements.count)
            try #require(pair.set.isEmpty == elements.isEmpty)
            for user in ObservedRemoveSetTests.users {
                try #require(pair.set.contains(user) == elements.contains(user))
            }
        }
    }

    @Test func `an add wins over a concurrent remove, and loses to one that has seen it`() {
        let alice = ObservedRemoveSetTests.users[0]
        var one = Users()
        one.insert(alice, by: Self.stamp(1, 1, at: 1))
        var other = one
        other.remove(alice, by: Self.stamp(2, 1, at: 2))
        var seen = one
        seen.merge(other)
        #expect(!seen.contains(alice))
        one.insert(alice, by: Self.stamp(1, 2, at: 1))
        one.merge(other)
        other.merge(one)
        #expect(one.contains(alice) && other.contains(alice))
        #expect(one.encoded == other.encoded)
    }

    @Test func `a removed element does not come back with an old state`() {
        let alice = ObservedRemoveSetTests.users[0]
        var set = Users()
        set.insert(alice, by: Self.stamp(1, 1, at: 1))
        let old = set
        set.remove(alice, by: Self.stamp(2, 1, at: 2))
        set.merge(old)
        #expect(!set.contains(alice) && set.isEmpty && set.removed == [alice])
    }

    @Test func `an add that is executed twice is one add, which a remove ends everywhere`() {
        let alice = ObservedRemoveSetTests.users[0]
        let add = Self.stamp(1, 1, at: 1)
        var (first, second) = (Users(), Users())
        first.insert(alice, by: add)
        second.insert(alice, by: add)
        #expect(first.encoded == second.encoded)
        first.remove(alice, by: Self.stamp(2, 1, at: 2))
        #expect(first.standing(ofAdding: alice, by: add) == .done)
        second.merge(first)
        #expect(second.removed == [alice])
    }

    @Test func `an add that comes late does not undo a later remove of its process`() {
        let alice = ObservedRemoveSetTests.users[0]
        let (add, remove) = (Self.stamp(1, 1, at: 1), Self.stamp(1, 2, at: 2))
        var (prompt, late) = (Users(), Users())
        prompt.remove(alice, by: remove)
        #expect(prompt.removed.isEmpty && !prompt.hasHeld(alice))
        #expect(prompt.standing(ofAdding: alice, by: add) == .done)
        late.insert(alice, by: add)
        late.merge(prompt)
        #expect(!late.contains(alice))
        // A remove through another process names the add that may still arrive.
        let elsewhere = Self.stamp(2, 1, at: 2)
        let unsettled = ProcessCounter(process: add.process, counter: add.counter)
        var moved = Users()
        moved.remove(alice, by: elsewhere, after: [unsettled])
        #expect(moved.standing(ofAdding: alice, by: add) == .done)
    }

    @Test func `a remove that comes late finds what is later, and does not take it away`() {
        let alice = ObservedRemoveSetTests.users[0]
        var set = Users()
        set.insert(alice, by: Self.stamp(1, 1, at: 5))
        let late = Self.stamp(2, 1, at: 5)
        let stale = Standing.stale(HybridTimestamp(milliseconds: 5))
        #expect(set.standing(ofRemoving: alice, by: late) == stale)
        set.insert(alice, by: Self.stamp(3, 1, at: 2))
        set.remove(alice, by: Self.stamp(2, 1, at: 3))
        #expect(set.contains(alice))
        set.remove(alice, by: Self.stamp(2, 2, at: 6))
        #expect(!set.contains(alice))
        #expect(set.standing(ofRemoving: alice, by: Self.stamp(2, 2, at: 6)) == .done)
        #expect(set.standing(ofRemoving: alice, by: Self.stamp(2, 1, at: 3)) == .new)
    }

    @Test func `an add after the clock was set back survives a late remove, as the one before did`()
    {
        let alice = ObservedRemoveSetTests.users[0]
        var set = Users()
        set.insert(alice, by: Self.stamp(1, 1, at: 5))
        set.insert(alice, by: Self.stamp(1, 2, at: 1))
        let late = Self.stamp(2, 1, at: 3)
        #expect(
            set.standing(ofRemoving: alice, by: late)
                == .stale(HybridTimestamp(milliseconds: 5)))
        set.remove(alice, by: late)
        #expect(set.contains(alice))
        set.remove(alice, by: Self.stamp(1, 3, at: 2))
        #expect(!set.contains(alice))
    }

    @Test func `every truncation and most flipped bytes of a set are refused, the rest canonical`()
        throws
    {
        var random = SplitMix64(seed: 4)
        for set in try ObservedRemoveSetTests.laws.states(seeds: 0..<20) {
            let bytes = set.encoded
            for count in 0..<bytes.count {
                #expect(throws: WireError.self) { try Users.decode(bytes[..<count]) }
            }
            for _ in 0..<20 {
                var flipped = bytes
                flipped[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
                guard let read = try? Users.decode(flipped) else { continue }
                try #require(read.encoded == flipped)
            }
        }
    }

    @Test func `elements and processes that do not ascend, or say nothing, are refused`() {
        let (alice, bob) = (ObservedRemoveSetTests.users[0], ObservedRemoveSetTests.users[1])
        let one = ProcessRecord(process: RandomID(high: 0, low: 1), counter: 1, liveTime: .zero)
        let two = ProcessRecord(process: RandomID(high: 0, low: 2), counter: 1)
        let none = ProcessRecord(process: RandomID(high: 0, low: 1), counter: 0)
        let refused: [[(UserID, isAdded: Bool, [ProcessRecord])]] = [
            [(bob, true, [one]), (alice, true, [one])],
            [(alice, true, [one]), (alice, true, [one])],
            [(alice, true, [])],
            [(alice, true, [two, one])],
            [(alice, true, [one, one])],
            [(alice, true, [none])],
            [(alice, false, [one])],
        ]
        for entries in refused {
            var writer = ByteWriter()
            writer.write(count: entries.count)
            for (user, isAdded, records) in entries {
                writer.write(user)
                writer.write(count: records.count << 1 | (isAdded ? 1 : 0))
                for record in records { record.encode(into: &writer) }
            }
            #expect(throws: WireError.self) { try Users.decode(writer.bytes) }
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try ObservedRemoveSetTests.laws.golden("observed-remove-set") == nil)
    }
}
