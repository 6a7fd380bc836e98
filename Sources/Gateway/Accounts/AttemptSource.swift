import Chat

/// The place from which an attempt with a password comes.
struct AttemptSource: Sendable {
    /// The address of the client.
    let address: String
    /// A sign-in that the client's device has or had; nil where it shows none.
    var signIn: DeviceSignIn?
}

/// The addresses from which users have signed in lately, as one node remembers them.
///
/// Wrong passwords from elsewhere do not keep a user out there.
struct KnownAddresses: Sendable {
    /// The most pairs of an account and an address; one more takes the place of half of them, those
    /// whose last sign-in is longest ago.
    static let pairsMax = 65_536

    private struct Pair: Hashable {
        let account: String
        let address: String
    }

    private var pairs: [Pair: UInt64] = [:]
    private var signIns: UInt64 = 0

    func contains(_ address: String, of account: String) -> Bool {
        pairs[Pair(account: account, address: address)] != nil
    }

    /// Notes that a user has shown to know the account's password.
    mutating func insert(_ address: String, of account: String) {
        signIns += 1
        pairs[Pair(account: account, address: address)] = signIns
        guard pairs.count > KnownAddresses.pairsMax else { return }
        let median = pairs.values.sorted()[pairs.count / 2]
        pairs = pairs.filter { $0.value > median }
    }
}
