/// The nodes that a client may use: those of the command line, and those of `MEMBERS`.
struct Roster {
    /// The limit of nodes that are tried in turn.
    static let nodesMax = 64

    /// The pause after each node has failed once, in milliseconds.
    static let pauseMilliseconds: UInt64 = 500

    private(set) var addresses: [String]
    private(set) var index = 0
    /// The number of consecutive failures.
    private(set) var failures = 0

    init(_ addresses: [String]) {
        precondition(!addresses.isEmpty, "a client is told of one node at least")
        self.addresses = addresses
    }

    var current: String { addresses[index] }

    mutating func learn(_ address: String) {
        guard !addresses.contains(address), addresses.count < Self.nodesMax else { return }
        addresses.append(address)
    }

    mutating func succeeded() { failures = 0 }

    /// Switches to the next node.
    ///
    /// - Returns: the pause before it is tried, in milliseconds.
    mutating func failed() -> UInt64 {
        failures += 1
        index = (index + 1) % addresses.count
        return failures % addresses.count == 0 ? Self.pauseMilliseconds : 0
    }
}
