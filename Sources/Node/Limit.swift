/// A limit of the node, and what happens beyond it: one line of `HELP limits`.
package struct Limit: Hashable, Sendable {
    /// The name: words joined by hyphens.
    package let name: String
    package let value: UInt64
    /// The unit of the value: bytes, milliseconds, or the things that are counted.
    package let unit: String
    /// What happens to anything beyond the value.
    package let answer: String

    package init(_ name: String, _ value: some BinaryInteger, _ unit: String, _ answer: String) {
        self.name = name
        self.value = UInt64(value)
        self.unit = unit
        self.answer = answer
    }
}
