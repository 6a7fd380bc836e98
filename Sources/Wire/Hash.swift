import CXXHash

/// A 128-bit hash with addition, so that the sum over a set does not depend on its order.
public struct Hash128: Hashable, Sendable, CustomStringConvertible {
    public var high: UInt64
    public var low: UInt64

    public static let zero = Hash128(high: 0, low: 0)

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Creates the XXH3-128 hash of `bytes`.
    public init(of bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { Hash128(of: $0) }
    }

    /// Creates the XXH3-128 hash of `bytes`.
    public init(of bytes: UnsafeRawBufferPointer) {
        let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
        self.init(high: hash.high64, low: hash.low64)
    }

    /// Adds modulo 2^128.
    public static func += (left: inout Hash128, right: Hash128) {
        let (low, carry) = left.low.addingReportingOverflow(right.low)
        left.low = low
        left.high = left.high &+ right.high &+ (carry ? 1 : 0)
    }

    /// Subtracts modulo 2^128.
    public static func -= (left: inout Hash128, right: Hash128) {
        let (low, borrow) = left.low.subtractingReportingOverflow(right.low)
        left.low = low
        left.high = left.high &- right.high &- (borrow ? 1 : 0)
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String { hexadecimal(high) + hexadecimal(low) }
}

/// Returns the XXH3-64 hash of `bytes`, which is the checksum of records and frames.
public func checksum(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
    XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
}

/// Returns the XXH3-64 hash of `bytes`, which is the checksum of records and frames.
public func checksum(_ bytes: some Sequence<UInt8>, seed: UInt64 = 0) -> UInt64 {
    bytes.withContiguousStorageIfAvailable {
        XXH3_64bits_withSeed($0.baseAddress, $0.count, seed)
    } ?? Array(bytes).withUnsafeBytes { checksum($0, seed: seed) }
}

/// Returns the XXH3-64 hash of a text's UTF-8.
public func checksum(of text: String, seed: UInt64 = 0) -> UInt64 {
    var text = text
    return text.withUTF8 { checksum(UnsafeRawBufferPointer($0), seed: seed) }
}

/// Returns two lower-case hexadecimal digits for each byte.
public func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

/// Returns 16 lower-case hexadecimal digits.
public func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}
