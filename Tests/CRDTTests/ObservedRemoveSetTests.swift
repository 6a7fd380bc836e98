import TestKit
import Testing
import Wire

@testable import CRDT

struct ObservedRemoveSetTests {
    typealias Users = ObservedRemoveSet<UserID>

    /// The definition: every add ever made, and those of them that some remove has seen.
    struct Model: Hashable, Sendable {
        struct Add: Hashable, Sendable {
            let user: UserID
            let dot: Dot
        }

        var adds: Set<Add> = []
        var removed: Set<Add> = []

        var elements: [UserID] { Set(adds.subtracting(removed).map(\.user)).sorted() }

        mutating func insert(_ user: UserID, by dot: Dot) {
            remove(user)
            adds.insert(Add(user: user, dot: dot))
        }

        mutating func remove(_ user: UserID) { removed.formUnion(adds.filter { $0.user == user }) }

        mutating func merge(_ other: Model) {
            adds.formUnion(other.adds)
            removed.formUnion(other.removed)
        }
    }

    private struct Pair: Hashable, Sendable {
        var set = Users()
        var model = Model()
    }

    private static let users = ["alice", "bob", "carol"].map { UserID(checked: $0) }

    @Sendable
    private static func mutated(
        _ set: Users?, _ writer: inout Writer, _ random: inout SplitMix64
    ) -> Users {
        var set = set ?? Users()
        let user = random.pick(users)
        if random.chance(60) {
            set.insert(user, by: writer.nextDot())
        } else {
            set.remove(user)
        }
        return set
    }

    private static let laws = Laws<Users>(
        merge: { $0.merge($1) }, encode: \.encoded, decode: { try Users.decode($0) },
        mutate: mutated)

    @Test func `merging is a join, and any order gives the same bytes`() throws {
        try ObservedRemoveSetTests.laws.check(seeds: 0..<1_500)
    }

    @Test func `it equals a model that keeps every add and every removed add`() throws {
        let laws = Laws<Pair>(
            merge: {
                $0.set.merge($1.set)
                $0.model.merge($1.model)
            },
            encode: \.set.encoded, decode: { Pair(set: try Users.decode($0)) },
            mutate: { pair, writer, random in
                var pair = pair ?? Pair()
                let user = random.pick(ObservedRemoveSetTests.users)
                if random.chance(60) {
                    let dot = writer.nextDot()
                    pair.set.insert(user, by: dot)
                    pair.model.insert(user, by: dot)
                } else {
                    pair.set.remove(user)
                    pair.model.remove(user)
                }
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
        one.insert(alice, by: Dot(replica: RandomID(high: 0, low: 1), seq: 1))
        var other = one
        other.remove(alice)
        var seen = one
        seen.merge(other)
        #expect(!seen.contains(alice))
        one.insert(alice, by: Dot(replica: RandomID(high: 0, low: 1), seq: 2))
        one.merge(other)
        other.merge(one)
        #expect(one.contains(alice) && other.contains(alice))
        #expect(one.encoded == other.encoded)
    }

    @Test func `a removed element does not come back with an old state`() {
        let alice = ObservedRemoveSetTests.users[0]
        var set = Users()
        set.insert(alice, by: Dot(replica: RandomID(high: 0, low: 1), seq: 1))
        let old = set
        set.remove(alice)
        set.merge(old)
        #expect(!set.contains(alice) && set.isEmpty && set != Users())
    }

    @Test func `removing what was never added leaves nothing behind`() {
        var set = Users()
        set.remove(ObservedRemoveSetTests.users[0])
        #expect(set == Users() && set.encoded == [0])
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

    @Test func `elements and dots that do not ascend within their context are refused`() {
        let dot = Dot(replica: RandomID(high: 0, low: 1), seq: 1)
        let later = Dot(replica: RandomID(high: 0, low: 1), seq: 2)
        let (alice, bob) = (ObservedRemoveSetTests.users[0], ObservedRemoveSetTests.users[1])
        let refused: [[(UserID, Context, [Dot])]] = [
            [(bob, Context(dot), [dot]), (alice, Context(dot), [dot])],
            [(alice, Context(dot), [dot]), (alice, Context(dot), [dot])],
            [(alice, Context(), [])],
            [(alice, Context(dot), [later])],
            [(alice, Context(later), [later, dot])],
            [(alice, Context(dot), [dot, dot])],
        ]
        for entries in refused {
            var writer = ByteWriter()
            writer.write(count: entries.count)
            for (user, context, dots) in entries {
                writer.write(user)
                context.encode(into: &writer)
                writer.write(count: dots.count)
                for dot in dots { dot.encode(into: &writer) }
            }
            #expect(throws: WireError.self) { try Users.decode(writer.bytes) }
        }
    }
}
