/// The sign-in of a client that has shown an access token of the cluster's own accounts.
///
/// The devices that the client registers end with it.
package struct ClientSignIn: Hashable, Sendable {
    /// The digest of the e-mail address, under which the account is stored.
    package let address: String
    package let id: String
    /// The stamp of its beginning.
    package let began: UInt64
}

extension AccessToken {
    /// Nil for a token of an app's own accounts.
    package var clientSignIn: ClientSignIn? {
        signIn.map { ClientSignIn(address: $0.address, id: $0.id, began: $0.stamp) }
    }
}
