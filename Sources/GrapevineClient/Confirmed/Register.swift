/// A value with the time of its last change.
///
/// Of two versions the later one holds; of two with the same time the greater value, as at nodes:
/// the order in which they are merged makes no difference.
struct Register<Value: Ordered>: Equatable, Sendable {
    private(set) var value: Value
    /// The time of the last change; nil if the value was never set.
    private(set) var time: ExactTime?

    /// - Parameters:
    ///   - value: the value, or what holds until one is set.
    ///   - time: nil if the value was never set.
    init(_ value: Value, at time: ExactTime? = nil) {
        self.value = value
        self.time = time
    }

    mutating func merge(_ other: Register) {
        guard let theirs = other.time else { return }
        if let time, time > theirs || (time == theirs && !value.precedes(other.value)) { return }
        self = other
    }
}

extension Register {
    /// Whether the register has a change at the time of the other one's, or a later one.
    func includes(_ other: Register) -> Bool {
        guard let theirs = other.time else { return true }
        return time.map { $0 >= theirs } ?? false
    }
}

extension Register: Codable where Value: Codable {}

/// Returns the later of two times.
func later(_ left: ExactTime?, _ right: ExactTime?) -> ExactTime? {
    guard let left, let right else { return left ?? right }
    return max(left, right)
}

/// A value of which nodes and clients alike know the greater of two.
protocol Ordered: Equatable, Sendable {
    /// Whether another value is greater.
    func precedes(_ other: Self) -> Bool
}

/// Texts are ordered by their bytes in UTF-8.
extension String: Ordered {
    func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

/// A yes or no, of which yes is the greater: of an addition and a removal with the same time, the
/// addition holds.
struct Flag: Ordered, Codable {
    let isSet: Bool

    static let no = Flag(isSet: false)
    static let yes = Flag(isSet: true)

    func precedes(_ other: Flag) -> Bool { !isSet && other.isSet }
}

/// A text or nothing, which is less than any text.
struct Maybe: Ordered, Codable {
    let text: String?

    init(_ text: String? = nil) {
        self.text = text
    }

    func precedes(_ other: Maybe) -> Bool {
        guard let theirs = other.text else { return false }
        return text?.precedes(theirs) ?? true
    }
}
