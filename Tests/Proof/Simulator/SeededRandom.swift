import Node
import Synchronization

/// A stream of random numbers that is determined by a seed.
///
/// Source: G. Steele et al., "Fast splittable pseudorandom number generators" (2014), SplitMix64.
package struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    /// - Parameter stream: the number of an independent stream of the same seed, so that a further
    ///   draw from one stream changes nothing in the others.
    package init(seed: UInt64, stream: UInt64) {
        state = mixed(seed &+ mixed(stream &+ 0x632B_E59B_D9B4_E019))
    }

    package mutating func next() -> UInt64 {
        state &+= SeededRandom.step
        return mixed(state)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func between(_ range: ClosedRange<UInt64>) -> UInt64 {
        range.lowerBound + next() % (range.upperBound - range.lowerBound + 1)
    }

    mutating func chance(percent: Int) -> Bool { below(100) < percent }

    mutating func pick<Element>(_ list: [Element]) -> Element { list[below(list.count)] }

    static let step: UInt64 = 0x9E37_79B9_7F4A_7C15
}

private func mixed(_ number: UInt64) -> UInt64 {
    var mixed = number
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
}

/// The random source of one simulated process.
final class SimEntropy: Entropy {
    private let state: Atomic<UInt64>

    init(seed: UInt64) { state = Atomic(seed) }

    func next() -> UInt64 {
        mixed(state.wrappingAdd(SeededRandom.step, ordering: .relaxed).newValue)
    }
}
