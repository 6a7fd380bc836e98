/// A limit of the node, and the node's response when the limit is exceeded; `HELP limits` prints
/// each limit as one line.
package struct Limit: Hashable, Sendable {
    /// The name of the limit: words joined by hyphens.
    package let name: String
    package let value: UInt64
    /// The unit of the value: bytes, milliseconds, or the name of the counted objects.
    package let unit: String
    /// The node's response when the value is exceeded, for example a status code.
    package let answer: String

    package init(_ name: String, _ value: some BinaryInteger, _ unit: String, _ answer: String) {
        self.name = name
        self.value = UInt64(value)
        self.unit = unit
        self.answer = answer
    }
}
