import TestKit
import Testing
import Wire

@testable import Server

@Suite struct ClientPlacesTests {
    @Test func `an address that takes all places loses one for each that arrives elsewhere`() {
        var places = ClientPlaces(countMax: 10)
        for id in 0..<10 as Range<UInt64> { #expect(places.add(id, from: "a") == nil) }
        #expect(places.add(10, from: "a") == 10)
        #expect(places.add(11, from: "b") == 9)
        #expect(places.add(12, from: "c") == 8)
        #expect(places.count == 10)
    }

    @Test func `a user who comes from many addresses loses a place, not who has one`() {
        var places = ClientPlaces(countMax: 10)
        for id in 0..<9 as Range<UInt64> {
            _ = places.add(id, from: "a\(id)")
            places.identify(id, as: "greedy", from: "a\(id)")
        }
        _ = places.add(9, from: "b")
        places.identify(9, as: "bob", from: "b")
        #expect(places.add(10, from: "c") == 8)
        // Of an address, whoever has not signed in goes first.
        places = ClientPlaces(countMax: 4)
        for id in 0..<4 as Range<UInt64> { _ = places.add(id, from: "office") }
        for id in [0, 2, 3] as [UInt64] { places.identify(id, as: "u\(id)", from: "office") }
        #expect(places.add(9, from: "d") == 1)
    }

    @Test func `where all have one place each, nobody loses it`() {
        var places = ClientPlaces(countMax: 3)
        for id in 0..<3 as Range<UInt64> { _ = places.add(id, from: "a\(id)") }
        #expect(places.add(3, from: "b") == 3)
        places.remove(1)
        #expect(places.add(3, from: "b") == nil)
        // Where the process has no place, whoever has the most loses one, too.
        places = ClientPlaces(countMax: 100)
        #expect(places.add(0, from: "a", isFull: true) == 0)
        for id in 0..<3 as Range<UInt64> { _ = places.add(id, from: "a") }
        #expect(places.add(3, from: "b", isFull: true) == 2)
    }

    @Test func `what is counted agrees with what is held, whatever happens`() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var places = ClientPlaces(countMax: 1 + random.below(20))
            var held: [UInt64: (address: String, user: String?)] = [:]
            for id in 0..<300 as Range<UInt64> {
                let address = "a\(random.below(1 + random.below(8)))"
                var counts: [String: Int] = [:]
                for (address, user) in held.values {
                    counts["address \(address)", default: 0] += 1
                    if let user { counts["user \(user)", default: 0] += 1 }
                }
                switch places.add(id, from: address) {
                case nil:
                    #expect(held.count < places.countMax)
                    held[id] = (address, nil)
                case id:
                    let mine = counts["address \(address)"] ?? 0
                    #expect(mine + 1 >= counts.values.max() ?? 0, "seed \(seed)")
                case let loser?:
                    let lost = held.removeValue(forKey: loser)
                    let most = max(
                        counts["address \(lost?.address ?? "")"] ?? 0,
                        lost?.user.flatMap { counts["user \($0)"] } ?? 0)
                    #expect(most == counts.values.max(), "seed \(seed)")
                    held[id] = (address, nil)
                }
                if random.below(2) == 0, !held.isEmpty {
                    let id = random.pick(held.keys.sorted())
                    let user = random.below(3) == 0 ? nil : "u\(random.below(4))"
                    held[id] = (held[id]?.address ?? "", user)
                    places.identify(id, as: user, from: held[id]?.address ?? "")
                }
                if random.below(4) == 0, !held.isEmpty {
                    let id = random.pick(held.keys.sorted())
                    held[id] = nil
                    places.remove(id)
                }
                #expect(places.count == held.count)
            }
        }
    }
}
