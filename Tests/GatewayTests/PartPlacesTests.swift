import TestKit
import Testing

@testable import Gateway

struct PartPlacesTests {
    @Test func `whoever has waited longest gets the next place, and keeps it`() {
        var places = PartPlaces(2)
        var taken = [1, 1, 2, 3, 2].map { places.take(for: $0) }
        #expect(taken == [true, true, false, false, false])
        #expect(places.give(back: 1) == [2])
        taken = [1, 3, 2].map { places.take(for: $0) }
        #expect(taken == [false, false, true])
        #expect(places.give(back: 2) == [3, 1])
        #expect(places.end(3) == [])
        taken = [4, 1, 4].map { places.take(for: $0) }
        #expect(taken == [true, true, false])
    }

    @Test func `what is kept for an upload that ends goes to the next`() {
        var places = PartPlaces(1)
        var taken = [1, 2, 3].map { places.take(for: $0) }
        #expect(taken == [true, false, false])
        #expect(places.give(back: 1) == [2])
        #expect(places.end(2) == [3])
        #expect(places.end(2) == [])
        taken = [2, 3].map { places.take(for: $0) }
        #expect(taken == [false, true])
    }

    @Test func `no place is lost, and none is taken twice`() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<200 {
            var places = PartPlaces(4)
            var held: [UInt64: Int] = [:]
            for _ in 0..<300 {
                let upload = UInt64(random.below(8))
                switch random.below(4) {
                case 0, 1: if places.take(for: upload) { held[upload, default: 0] += 1 }
                case 2:
                    guard let count = held[upload], count > 0 else { continue }
                    held[upload] = count - 1
                    _ = places.give(back: 1)
                default:
                    let count = held.removeValue(forKey: upload) ?? 0
                    _ = places.give(back: count)
                    _ = places.end(upload)
                }
                #expect(held.values.reduce(0, +) <= 4)
            }
            for (upload, count) in held {
                _ = places.give(back: count)
                _ = places.end(upload)
            }
            for upload in UInt64(0)..<8 { _ = places.end(upload) }
            let free = (0..<5).map { _ in places.take(for: 9) }
            #expect(free == [true, true, true, true, false])
        }
    }
}
