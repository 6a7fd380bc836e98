/// A value that the node stores besides its shards.
package struct Setting: Hashable, Sendable {
    package let name: String
    package let value: [UInt8]

    package init(name: String, value: [UInt8]) {
        self.name = name
        self.value = value
    }
}
