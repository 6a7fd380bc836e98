/// The short names by which a person refers to the messages of the open chat: numbers in the order
/// of the messages.
///
/// The label of a message never changes once it has been shown.
/// If older messages may follow, the numbers begin high enough to leave numbers for those. A
/// message that arrives late, between two others, gets the number of the one before it and a
/// letter.
struct MessageLabels {
    private struct Label: Hashable {
        let number: Int
        var suffix = ""

        var text: String { "\(number)\(suffix)" }

        /// The next label with the same number: a, b, … z, za, zb, …, in the order of texts.
        var follower: Label {
            guard let last = suffix.unicodeScalars.last, last != "z" else {
                return Label(number: number, suffix: suffix + "a")
            }
            let next = Character(Unicode.Scalar(UInt8(last.value) + 1))
            return Label(number: number, suffix: String(suffix.dropLast()) + String(next))
        }
    }

    private var labels: [String: Label] = [:]
    private var taken: Set<Label> = []
    private var first = 1
    /// The highest number given so far.
    private var last: Int?

    subscript(_ id: String) -> String? { labels[id]?.text }

    /// Sets the number of the first message, before any message has one.
    mutating func begin(at number: Int) {
        if labels.isEmpty { first = number }
    }

    /// Labels the messages that have no label yet.
    ///
    /// - Parameter ids: all messages in their order.
    mutating func assign(to ids: [String]) {
        guard ids.contains(where: { labels[$0] == nil }) else { return }
        number(above: ids)
        number(below: ids)
        number(between: ids)
    }

    private mutating func set(_ label: Label, to id: String) {
        var label = label
        while !taken.insert(label).inserted { label = label.follower }
        labels[id] = label
    }

    /// Numbers the messages before the first labelled one, as long as there are numbers.
    private mutating func number(above ids: [String]) {
        guard let known = ids.firstIndex(where: { labels[$0] != nil }) else { return }
        var number = labels[ids[known]]?.number ?? 1
        for id in ids[..<known].reversed() where number > 1 {
            number -= 1
            set(Label(number: number), to: id)
        }
    }

    /// Numbers the messages after the last labelled one.
    private mutating func number(below ids: [String]) {
        let known = ids.lastIndex { labels[$0] != nil }
        var number = last ?? first - 1
        for id in ids[(known.map { $0 + 1 } ?? 0)...] {
            number += 1
            set(Label(number: number), to: id)
        }
        last = number
    }

    private mutating func number(between ids: [String]) {
        var before = Label(number: 0)
        for id in ids {
            if labels[id] == nil { set(before.follower, to: id) }
            if let label = labels[id] { before = label }
        }
    }
}
