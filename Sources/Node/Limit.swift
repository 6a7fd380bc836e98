/// How much of something there may be, and what happens when there is more.
package struct Limit: Hashable, Sendable {
    /// What is counted: words between hyphens.
    package let name: String
    package let value: UInt64
    /// Of the value: bytes, milliseconds, or what is counted.
    package let unit: String
    /// What happens to what is beyond it.
    package let answer: String

    package init(_ name: String, _ value: some BinaryInteger, _ unit: String, _ answer: String) {
        self.name = name
        self.value = UInt64(value)
        self.unit = unit
        self.answer = answer
    }
}
