/// A strict parser of Prometheus' text format: what a scraper would reject is an error here.
struct PrometheusText {
    struct Broken: Error, Equatable {
        let line: String
        let why: String
    }

    struct Family {
        let name: String
        let kind: String
        var samples: [Sample] = []
    }

    struct Sample: Equatable {
        let name: String
        let labels: [String: String]
        let value: Double
    }

    private(set) var families: [Family] = []

    /// - Parameter lines: without their ends.
    init(_ lines: [String]) throws {
        var helped: String?
        for line in lines {
            if line.hasPrefix("# HELP ") {
                helped = try openHelp(line)
            } else if line.hasPrefix("# TYPE ") {
                try open(line, helped)
            } else {
                try take(line)
            }
        }
        for family in families where family.kind == "histogram" { try checkHistogram(family) }
    }

    /// Returns the value of the sample with these labels; nil where there is none.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families.flatMap(\.samples).first { $0.name == name && $0.labels == labels }?.value
    }

    private func openHelp(_ line: String) throws -> String {
        let words = line.split(separator: " ", maxSplits: 3)
        guard words.count == 4 else { throw Broken(line: line, why: "help says something") }
        return String(words[2])
    }

    private mutating func open(_ line: String, _ helped: String?) throws {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 4, ["counter", "gauge", "histogram"].contains(words[3]) else {
            throw Broken(line: line, why: "a kind")
        }
        guard words[2] == helped else { throw Broken(line: line, why: "help comes first") }
        guard !families.contains(where: { $0.name == words[2] }) else {
            throw Broken(line: line, why: "a family is one piece")
        }
        try Self.checkName(words[2], words[3], line)
        families.append(Family(name: words[2], kind: words[3]))
    }

    /// Checks that names end in their unit, and counters in `_total`.
    private static func checkName(_ name: String, _ kind: String, _ line: String) throws {
        let isName = name.utf8.allSatisfy {
            ($0 >= 0x61 && $0 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x5F
        }
        guard isName, name.utf8.first != 0x5F else { throw Broken(line: line, why: "a name") }
        guard name.hasSuffix("_total") == (kind == "counter") else {
            throw Broken(line: line, why: "a counter, and nothing else, ends in _total")
        }
        let words = name.split(separator: "_")
        for unit in ["milliseconds", "microseconds", "ms", "kilobytes", "megabytes", "percent"]
        where words.contains(Substring(unit)) {
            throw Broken(line: line, why: "base units alone")
        }
        guard !name.hasSuffix("_count"), !name.hasSuffix("_sum"), !name.hasSuffix("_bucket") else {
            throw Broken(line: line, why: "a suffix of histograms")
        }
    }

    private mutating func take(_ line: String) throws {
        guard var family = families.popLast() else { throw Broken(line: line, why: "a family") }
        defer { families.append(family) }
        let sample = try Self.sample(line)
        let suffixes = family.kind == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        guard suffixes.contains(where: { family.name + $0 == sample.name }) else {
            throw Broken(line: line, why: "a sample of \(family.name)")
        }
        let isTwice = family.samples.contains {
            $0.name == sample.name && $0.labels == sample.labels
        }
        guard !isTwice else { throw Broken(line: line, why: "a series once") }
        guard family.kind == "gauge" || sample.value >= 0 else {
            throw Broken(line: line, why: "a count")
        }
        family.samples.append(sample)
    }

    private static func sample(_ line: String) throws -> Sample {
        var rest = Substring(line)
        let name = rest.prefix { $0 != "{" && $0 != " " }
        rest = rest.dropFirst(name.count)
        var labels: [String: String] = [:]
        if rest.first == "{" {
            repeat {
                rest = rest.dropFirst()
                let label = rest.prefix { $0 != "=" }
                rest = rest.dropFirst(label.count)
                guard rest.hasPrefix("=\""), !label.isEmpty, labels[String(label)] == nil else {
                    throw Broken(line: line, why: "a label")
                }
                rest = rest.dropFirst(2)
                labels[String(label)] = try unescaped(&rest, line)
            } while rest.first == ","
            guard rest.first == "}" else { throw Broken(line: line, why: "the end of labels") }
            rest = rest.dropFirst()
        }
        guard rest.first == " ", let value = Double(rest.dropFirst()), value.isFinite else {
            throw Broken(line: line, why: "a number")
        }
        return Sample(name: String(name), labels: labels, value: value)
    }

    private static func unescaped(_ rest: inout Substring, _ line: String) throws -> String {
        var value = ""
        while let next = rest.popFirst(), next != "\"" {
            guard next == "\\" else {
                value.append(next)
                continue
            }
            switch rest.popFirst() {
            case "\\": value.append("\\")
            case "\"": value.append("\"")
            case "n": value.append("\n")
            default: throw Broken(line: line, why: "an escape")
            }
        }
        return value
    }

    /// Checks that buckets ascend and never fall, and that the last one counts everything.
    private func checkHistogram(_ family: Family) throws {
        let series = Dictionary(grouping: family.samples) { sample in
            sample.labels.filter { $0.key != "le" }
        }
        for (labels, samples) in series {
            let buckets = samples.filter { $0.name.hasSuffix("_bucket") }
            let bounds = buckets.map { $0.labels["le"] ?? "" }
            let counts = buckets.map(\.value)
            let count = samples.first { $0.name.hasSuffix("_count") }?.value
            guard bounds.last == "+Inf", counts.last == count, count != nil,
                samples.contains(where: { $0.name.hasSuffix("_sum") }),
                counts == counts.sorted(), let numbers = Self.numbers(bounds.dropLast()),
                numbers == numbers.sorted(), Set(numbers).count == numbers.count
            else { throw Broken(line: "\(family.name) \(labels)", why: "a histogram") }
        }
    }

    private static func numbers(_ texts: some Sequence<String>) -> [Double]? {
        let numbers = texts.map { Double($0) }
        return numbers.contains(nil) ? nil : numbers.compactMap { $0 }
    }
}
