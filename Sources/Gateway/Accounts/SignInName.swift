import JSON
import Wire

/// The sign-in that an access token of the cluster's own accounts was issued for.
///
/// The devices that a client with such a token registers end with the sign-in.
package struct SignInName: Hashable, Sendable {
    /// The digest of the e-mail address, under which the account is stored.
    package let address: String
    package let id: String
    /// The stamp of the sign-in, with which revocations are compared: a renewal makes it no newer.
    package let stamp: UInt64

    init(address: String, id: String, stamp: UInt64) {
        self.address = address
        self.id = id
        self.stamp = stamp
    }

    /// Reads it from the claims of a token; nil for a token of an app's own accounts.
    init?(_ claims: JSONValue) {
        guard case .text(let id)? = claims["sid"], case .text(let address)? = claims["adr"],
            case .integer(let stamp)? = claims["at"], stamp > 0
        else { return nil }
        self.init(address: address, id: id, stamp: UInt64(stamp))
    }
}

/// The access tokens that are refused although they are signed and have not expired.
struct Revocations: Hashable, Sendable {
    /// The latest beginning that is revoked, by the name of a user or a sign-in.
    private(set) var stamps: [String: UInt64] = [:]

    /// A sign-in that has ended is never used again, whatever its stamp.
    func contains(_ access: AccessToken) -> Bool {
        guard let signIn = access.signIn else { return false }
        return stamps[signIn.id] != nil || signIn.stamp <= stamps[access.user.text] ?? 0
    }

    mutating func insert(_ name: String, through stamp: UInt64) {
        stamps[name] = max(stamps[name] ?? 0, stamp)
    }

    /// Forgets a revocation of tokens that have all ended.
    mutating func remove(_ name: String) { stamps[name] = nil }
}
