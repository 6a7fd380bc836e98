/// A seeded generator: the same seed, the same run.
///
/// Source: G. Steele et al., "Fast splittable pseudorandom number generators" (2014).
package struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to `bound`, exclusive.
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    package mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let missing = count - bytes.count
            withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0.prefix(missing)) }
        }
        return bytes
    }
}
