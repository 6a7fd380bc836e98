import CRDT
import Chat
import LineProtocol

extension Admin {
    /// Returns the reply to `KEYS`.
    static func reply(_ signing: Signing) -> [UInt8] {
        var writer = ReplyWriter()
        for key in signing.keys {
            writer.line("KEY") {
                $0.pair("id", key.id)
                $0.pair("secret", key.secret)
                $0.pair("stamp", key.created.time.bits)
            }
        }
        for revocation in signing.revocations {
            writer.line("REVOKED") {
                $0.pair("name", revocation.name)
                $0.pair("through", revocation.time.bits)
            }
        }
        writer.ok { $0.pair("through", signing.floor.bits) }
        return writer.removeAll()
    }
}

/// The data lines of accounts.
extension ReplyWriter {
    mutating func account(_ account: AccountView) {
        line("ACCOUNT") {
            $0.pair("user", account.user)
            $0.pair("address", account.address)
            $0.pair("email", account.email)
            $0.pair("createdAt", time: account.createdAt.lineTime)
            $0.flag("disabled", account.isDisabled)
            $0.pair("signins", account.signInsCount)
            if account.signedInAt > .zero { $0.pair("stamp", account.signedInAt.bits) }
            $0.pair("password", account.password)
        }
    }
}
