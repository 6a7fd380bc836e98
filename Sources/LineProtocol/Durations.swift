/// The form of durations in lines and on command lines: a number and `ms`, `s`, `m` or `h`.
extension Duration {
    /// Parses a duration such as `250ms`, `1.5s` or `15m`.
    ///
    /// The result is nil for a negative duration, for more than six decimals, and for a duration
    /// above about 292 years.
    public init?(lineValue text: some StringProtocol) {
        let bytes = Array(text.utf8)
        let split = bytes.firstIndex { !isDigit($0) && $0 != UInt8(ascii: ".") } ?? bytes.count
        let unit: Int64
        switch String(decoding: bytes[split...], as: UTF8.self) {
        case "ms": unit = 1_000_000
        case "s": unit = 1_000_000_000
        case "m": unit = 60_000_000_000
        case "h": unit = 3_600_000_000_000
        default: return nil
        }
        let parts = bytes[..<split].split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = decimal(parts[0]) else { return nil }
        var nanoseconds: Int64 = 0
        if parts.count > 1 {
            guard parts[1].count <= 6, let decimals = decimal(parts[1]) else { return nil }
            var scale: Int64 = 1
            for _ in parts[1] { scale *= 10 }
            nanoseconds = Int64(decimals) * unit / scale
        }
        let (product, high) = Int64(whole).multipliedReportingOverflow(by: unit)
        let (sum, low) = product.addingReportingOverflow(nanoseconds)
        guard !high, !low else { return nil }
        self = .nanoseconds(sum)
    }

    /// The duration in milliseconds, cut off after three decimals: `0.412ms`.
    public var asLineValue: String {
        let (seconds, attoseconds) = components
        let micros = Int128(seconds) * 1_000_000 + Int128(attoseconds / 1_000_000_000_000)
        let sign = micros < 0 ? "-" : ""
        let (whole, rest) = micros.magnitude.quotientAndRemainder(dividingBy: 1_000)
        guard rest > 0 else { return "\(sign)\(whole)ms" }
        var decimals = String(rest + 1_000).dropFirst()
        while decimals.last == "0" { decimals.removeLast() }
        return "\(sign)\(whole).\(decimals)ms"
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded down; 0 for a negative duration.
    public var wholeMilliseconds: UInt64 {
        let milliseconds =
            components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
        return UInt64(max(0, milliseconds))
    }
}
