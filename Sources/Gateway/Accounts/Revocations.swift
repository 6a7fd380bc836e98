import CRDT
import Chat
import JSON
import Wire

/// The claims about a sign-in in the access tokens of the cluster's own accounts.
extension DeviceSignIn {
    /// Reads it from the claims of a token; nil for a token of an app's own accounts.
    init?(_ claims: JSONValue) {
        guard case .text(let id)? = claims["sid"], case .text(let address)? = claims["adr"],
            case .integer(let stamp)? = claims["at"], stamp > 0,
            let id = SignInID(id), let address = AddressID(address)
        else { return nil }
        self.init(address: address, id: id, began: HybridTimestamp(bits: UInt64(stamp)))
    }
}

/// The access tokens that are refused although they are signed and have not expired.
struct Revocations: Hashable, Sendable {
    /// The latest beginning that is revoked, by the name of a user or a sign-in.
    private(set) var stamps: [String: UInt64] = [:]

    /// A sign-in that has ended is never used again, whatever its stamp.
    func contains(_ access: AccessToken) -> Bool {
        guard let signIn = access.signIn else { return false }
        return stamps[signIn.id.text] != nil || signIn.began.bits <= stamps[access.user.text] ?? 0
    }

    mutating func insert(_ name: String, through stamp: UInt64) {
        stamps[name] = max(stamps[name] ?? 0, stamp)
    }

    /// Forgets a revocation of tokens that have all ended.
    mutating func remove(_ name: String) { stamps[name] = nil }
}
