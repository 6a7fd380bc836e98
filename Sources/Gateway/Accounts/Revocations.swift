import CRDT
import Chat
import JSON
import Wire

/// The claims about a sign-in in the access tokens of the cluster's own accounts.
extension DeviceSignIn {
    /// Reads a sign-in from the claims `sid`, `adr` and `at` of an access token; nil if one of them
    /// is missing, as in a token of an app's own accounts.
    init?(_ claims: JSONValue) {
        guard case .text(let id)? = claims["sid"], case .text(let address)? = claims["adr"],
            case .integer(let stamp)? = claims["at"], stamp > 0,
            let id = SignInID(id), let address = AddressID(address)
        else { return nil }
        self.init(address: address, id: id, began: HybridTimestamp(bits: UInt64(stamp)))
    }
}

/// The revocations of access tokens, each kept until all tokens that it revokes have expired.
struct Revocations: Hashable, Sendable {
    /// For each ID of a user or a sign-in: the hybrid timestamp up to which access tokens are
    /// revoked.
    private(set) var stamps: [String: UInt64] = [:]

    /// Whether an access token is revoked, because its sign-in has ended, or began no later than
    /// the time up to which the tokens of its user are revoked.
    func contains(_ access: AccessToken) -> Bool {
        guard let signIn = access.signIn else { return false }
        return stamps[signIn.id.text] != nil || signIn.began.bits <= stamps[access.user.text] ?? 0
    }

    mutating func insert(_ name: String, through stamp: UInt64) {
        stamps[name] = max(stamps[name] ?? 0, stamp)
    }

    /// Removes a user's or a sign-in's revocation; called once all tokens that it revokes have
    /// expired.
    mutating func remove(_ name: String) { stamps[name] = nil }
}
