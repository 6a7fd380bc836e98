import Chat

/// The origin of a password attempt: a client address and, if known, a device's sign-in.
struct AttemptSource: Sendable {
    /// The network address of the client.
    let address: String
    /// The sign-in, perhaps ended, that the client's access token names; nil without such a token.
    var signIn: DeviceSignIn?
}

/// The client addresses from which users have signed in recently, as one node remembers them.
///
/// A user who signs in from a remembered address is not locked out by wrong passwords that come
/// from other addresses.
struct KnownAddresses: Sendable {
    /// The maximum number of remembered pairs of an account and a client address; beyond it, the
    /// half with the oldest sign-ins is removed.
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

    /// Records a client address from which the right password of an account was given.
    mutating func insert(_ address: String, of account: String) {
        signIns += 1
        pairs[Pair(account: account, address: address)] = signIns
        guard pairs.count > KnownAddresses.pairsMax else { return }
        let median = pairs.values.sorted()[pairs.count / 2]
        pairs = pairs.filter { $0.value > median }
    }
}
