import CRDT
import Wire

/// An account, as a node that signs its user in needs it.
public struct AccountView: Hashable, Sendable {
    public let user: UserID
    public let email: String
    /// The hash of the password, which names its algorithm, parameters and salt.
    public let password: String
    public let createdAt: HybridTimestamp
    public let isDisabled: Bool
    /// The number of sign-ins that have not ended.
    public let signInsCount: Int
}

extension Credentials {
    /// The accounts that are not removed, the one created first being the first.
    public var views: [AccountView] {
        present.map { account in
            AccountView(
                user: account.user, email: account.email, password: account.password,
                createdAt: account.created?.time ?? .zero, isDisabled: account.isDisabled,
                signInsCount: account.signIns.count { $0.isOpen })
        }
    }
}

extension AccountView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        writer.write(email)
        writer.write(password)
        createdAt.encode(into: &writer)
        writer.write(isDisabled)
        writer.write(count: signInsCount)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        email = try reader.readText(limit: ChatLimits.titleBytesMax)
        password = try reader.readText(limit: ChatLimits.titleBytesMax)
        createdAt = try HybridTimestamp(from: &reader)
        isDisabled = try reader.readFlag()
        signInsCount = try reader.readNumber()
    }
}
