import CRDT
import Wire

/// The data of an account that a node needs to sign its user in.
public struct AccountView: Hashable, Sendable {
    public let address: AddressID
    public let user: UserID
    public let email: String
    /// The hash of the password, which names its algorithm, parameters and salt.
    public let password: String
    public let createdAt: HybridTimestamp
    public let isDisabled: Bool
    /// The time of the last sign-in or renewal of access by any device; zero if there was none.
    public let signedInAt: HybridTimestamp
    /// The number of sign-ins that have not ended.
    public let signInsCount: Int
}

extension Credentials {
    /// Returns the accounts that are not removed, in the order of their creation.
    public func views(at address: AddressID) -> [AccountView] {
        present.map { account in
            AccountView(
                address: address, user: account.user, email: account.email,
                password: account.password,
                createdAt: account.created?.time ?? .zero, isDisabled: account.isDisabled,
                signedInAt: account.signIns.map(\.greatestTime).max() ?? .zero,
                signInsCount: account.signIns.count { $0.isOpen })
        }
    }
}

extension AccountView: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(address)
        writer.write(user)
        writer.write(email)
        writer.write(password)
        createdAt.encode(into: &writer)
        writer.write(isDisabled)
        signedInAt.encode(into: &writer)
        writer.write(count: signInsCount)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        address = try reader.readName()
        user = try reader.readName()
        email = try reader.readText(limit: ChatLimits.titleBytesMax)
        password = try reader.readText(limit: ChatLimits.titleBytesMax)
        createdAt = try HybridTimestamp(from: &reader)
        isDisabled = try reader.readFlag()
        signedInAt = try HybridTimestamp(from: &reader)
        signInsCount = try reader.readNumber()
    }
}

extension [AccountView] {
    /// The accounts of the first addresses, ascending by address; each account occurs once.
    ///
    /// Accounts with the same address keep their order.
    var firstPage: [AccountView] {
        var seen: Set<UserID> = []
        let sorted = enumerated().sorted {
            ($0.element.address, $0.offset) < ($1.element.address, $1.offset)
        }.map(\.element).filter { seen.insert($0.user).inserted }
        guard let last = sorted.dropFirst(AllAccountsQuery.accountsMax - 1).first?.address else {
            return sorted
        }
        return Array(sorted.prefix { $0.address <= last })
    }
}
