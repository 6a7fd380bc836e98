import Node

/// A writer of Prometheus' text format 0.0.4: families of samples, each with a description.
///
/// See https://prometheus.io/docs/instrumenting/exposition_formats/
struct MetricsText {
    enum Kind: String {
        /// A value that only increases; its name ends in `_total`.
        case counter
        case gauge
        case histogram
    }

    /// The unit of a histogram's values.
    enum Unit {
        case things
        case microseconds
    }

    struct Label {
        let name: StaticString
        let value: String

        init(_ name: StaticString, _ value: some CustomStringConvertible) {
            self.name = name
            self.value = value.description
        }
    }

    private(set) var bytes: [UInt8] = []
    private var family = ""

    init() {}

    /// Begins a family of samples; all samples of a family must precede the next family.
    ///
    /// - Parameters:
    ///   - name: the family's name, which ends in the unit of the samples, if any: `_seconds`,
    ///     `_bytes`.
    ///   - about: the description of the family, a sentence.
    mutating func family(_ name: String, _ kind: Kind, _ about: String) {
        let isCounter = name.hasSuffix("_total")
        precondition(isCounter == (kind == .counter), "a counter's name ends in _total")
        family = name
        append("# HELP \(name) \(escaped(about, quotes: false))\n")
        append("# TYPE \(name) \(kind.rawValue)\n")
    }

    mutating func sample(_ labels: Label..., value: some BinaryInteger) {
        sample(labels, value: value.description)
    }

    /// Writes a sample in seconds, which is given in microseconds.
    mutating func sample(_ labels: Label..., microseconds: UInt64) {
        sample(labels, value: MetricsText.seconds(microseconds))
    }

    /// Writes a sample that is 1 for true and 0 for false.
    mutating func sample(_ labels: Label..., flag: Bool) {
        sample(labels, value: flag ? "1" : "0")
    }

    mutating func sample(_ labels: Label..., histogram: Histogram, of unit: Unit) {
        var sum: UInt64 = 0
        for (index, count) in histogram.counts.enumerated() {
            sum += count
            let bound =
                index < histogram.bounds.count
                ? MetricsText.number(histogram.bounds[index], unit) : "+Inf"
            sample(labels + [Label("le", bound)], suffix: "_bucket", value: "\(sum)")
        }
        sample(labels, suffix: "_sum", value: MetricsText.number(histogram.sum, unit))
        sample(labels, suffix: "_count", value: "\(sum)")
    }

    private mutating func sample(_ labels: [Label], suffix: String = "", value: String) {
        append(family + suffix)
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
            append("{" + pairs.joined(separator: ",") + "}")
        }
        append(" \(value)\n")
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

    private func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    private static func number(_ value: UInt64, _ unit: Unit) -> String {
        switch unit {
        case .things: "\(value)"
        case .microseconds: seconds(value)
        }
    }

    /// Returns a time as exact seconds without trailing zeros: `0.0025` for 2500 µs.
    private static func seconds(_ microseconds: UInt64) -> String {
        let (whole, part) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        guard part > 0 else { return "\(whole)" }
        var digits = "\(part + 1_000_000)".dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(whole).\(digits)"
    }
}
