/// The nodes that a client may talk to: those it was told, and those of `MEMBERS`.
struct Roster {
    /// The most nodes that are tried in turn.
    static let nodesMax = 64

    /// How long to wait after each node was tried in vain.
    static let pauseMilliseconds: UInt64 = 500

    private(set) var addresses: [String]
    private(set) var index = 0
    /// How many were tried in vain, one after the other.
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

    /// Turns to the next node.
    ///
    /// - Returns: after which time to try it.
    mutating func failed() -> UInt64 {
        failures += 1
        index = (index + 1) % addresses.count
        return failures % addresses.count == 0 ? Self.pauseMilliseconds : 0
    }
}
