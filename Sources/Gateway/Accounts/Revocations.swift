import CRDT
import Chat
import JSON
import Wire

/// The claims about a sign-in in the access tokens of the cluster's own accounts.
extension DeviceSignIn {
    /// Reads the sign-in from the claims `sid`, `adr` and `at`; nil for a token of an app's own
    /// accounts.
    init?(_ claims: JSONValue) {
        guard case .text(let id)? = claims["sid"], case .text(let address)? = claims["adr"],
            case .integer(let stamp)? = claims["at"], stamp > 0,
            let id = SignInID(id), let address = AddressID(address)
        else { return nil }
        self.init(address: address, id: id, began: HybridTimestamp(bits: UInt64(stamp)))
    }
}

/// The revocations of access tokens that are signed and have not expired.
struct Revocations: Hashable, Sendable {
    /// The time up to which sign-ins are revoked, by the name of a user or a sign-in.
    private(set) var stamps: [String: UInt64] = [:]

    /// Whether the token's sign-in has ended, or began no later than the revocation of its user.
    func contains(_ access: AccessToken) -> Bool {
        guard let signIn = access.signIn else { return false }
        return stamps[signIn.id.text] != nil || signIn.began.bits <= stamps[access.user.text] ?? 0
    }

    mutating func insert(_ name: String, through stamp: UInt64) {
        stamps[name] = max(stamps[name] ?? 0, stamp)
    }

    /// Removes a revocation whose tokens have all expired.
    mutating func remove(_ name: String) { stamps[name] = nil }
}
