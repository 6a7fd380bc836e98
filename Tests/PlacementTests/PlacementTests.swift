import Placement
import TestKit
import Testing
import Wire

struct PlacementTests {
    private let members = (1...7).map { NodeName(checked: "n\($0)") }
    private let shards = (0..<512).map { ShardID(UInt16($0)) }

    @Test func `the order in which members are named does not matter`() {
        var random = SplitMix64(seed: 1)
        for shard in shards {
            let shuffled = members.shuffled(using: &random)
            #expect(
                Placement.ranking(of: shard, among: members)
                    == Placement.ranking(of: shard, among: shuffled))
        }
    }

    @Test func `owners are the first of the ranking, each once, as many as there are`() {
        for shard in shards {
            let ranking = Placement.ranking(of: shard, among: members)
            #expect(Set(ranking) == Set(members))
            let owners = Placement.owners(of: shard, among: members, replicas: .count(3))
            #expect(owners == Array(ranking.prefix(3)))
            #expect(Placement.owners(of: shard, among: members, replicas: .all) == ranking)
        }
        let two = Array(members.prefix(2))
        #expect(Placement.owners(of: ShardID(0), among: two, replicas: .count(3)).count == 2)
        #expect(Placement.owners(of: ShardID(0), among: [], replicas: .count(3)).isEmpty)
    }

    @Test func `who comes or goes moves only what it owns`() {
        for shard in shards {
            let before = Placement.owners(of: shard, among: members, replicas: .count(3))
            let rest = members.filter { $0 != NodeName(checked: "n4") }
            let after = Placement.owners(of: shard, among: rest, replicas: .count(3))
            #expect(after.starts(with: before.filter { $0 != NodeName(checked: "n4") }))
        }
    }

    /// Each of seven members should own three sevenths of 512 shards, which is 219.
    @Test func `everybody owns about as much`() {
        var owned: [NodeName: Int] = [:]
        for shard in shards {
            for owner in Placement.owners(of: shard, among: members, replicas: .count(3)) {
                owned[owner, default: 0] += 1
            }
        }
        for member in members { #expect((180...260).contains(owned[member] ?? 0)) }
    }

    /// Nodes of different versions must agree on the owners.
    @Test func `the ranking does not change from version to version`() {
        let ranking = Placement.ranking(of: ShardID(17), among: members).map(\.text)
        #expect(ranking == ["n3", "n1", "n7", "n6", "n2", "n4", "n5"])
    }

    @Test func `replicas are a number up to a hundred, or all`() throws {
        #expect(Replicas("all") == .all)
        #expect(Replicas("3") == .count(3))
        for text in ["0", "-1", "101", "", "three", "3.0"] { #expect(Replicas(text) == nil) }
        for replicas in [Replicas.all, .count(1), .count(100)] {
            #expect(try Replicas.decode(replicas.encoded) == replicas)
            #expect(Replicas(replicas.description) == replicas)
        }
        #expect(throws: WireError.self) { try Replicas.decode([101]) }
    }
}
