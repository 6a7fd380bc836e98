import CRDT
import Wire

extension QueryTable {
    static let ofAccounts: [any Query.Type] = [
        AccountsQuery.self, AllAccountsQuery.self, AccountUsersQuery.self, SigningQuery.self,
    ]
}

/// A query for the accounts that sign in with an e-mail address.
public struct AccountsQuery: Query {
    public typealias Answer = [AccountView]
    public static let codes: [UInt8] = [27]
    public static let isForOperators = true

    public let address: AddressID

    public init(_ address: AddressID) { self.address = address }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        address = try reader.readName()
    }

    public func encode(into writer: inout ByteWriter) { writer.write(address) }

    public var partition: String? { address.text }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [AccountView] {
        try source.document(.credentials(address))?.credentials?.views(at: address) ?? []
    }
}

/// A query for the accounts of all e-mail addresses after a given address.
public struct AllAccountsQuery: Query {
    public typealias Answer = [AccountView]
    public static let codes: [UInt8] = [31]
    public static let isForOperators = true
    /// The number of accounts at which a shard adds no further address to its answer.
    public static let accountsMax = 256

    public let last: AddressID?

    public init(after last: AddressID?) { self.last = last }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        last = try Optional(from: &reader)
    }

    public func encode(into writer: inout ByteWriter) { last.encode(into: &writer) }

    public var partition: String? { nil }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [AccountView] {
        var views: [AccountView] = []
        for key in try source.keys(of: .credentials, carrying: Term.account, partition: nil)
        where views.count < AllAccountsQuery.accountsMax {
            guard let address = AddressID(key.partition), last.map({ $0 < address }) ?? true,
                let credentials = try source.document(key)?.credentials
            else { continue }
            views += credentials.views(at: address)
        }
        return views
    }
}

/// A query that finds which of the given users have an account.
public struct AccountUsersQuery: UsersQuery {
    public typealias Answer = [UserID]
    public static let codes: [UInt8] = [40]
    public static let isForOperators = true

    /// The users in question, at most `ChatLimits.participantsMax`, ascending.
    public let asked: [UserID]

    public init(among asked: [UserID]) { self.asked = asked }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [UserID] {
        var found: [UserID] = []
        for user in asked {
            for key in try source.keys(
                of: .credentials, carrying: Term.account(of: user), partition: nil)
            {
                let credentials = try source.document(key)?.credentials
                guard credentials?.present.contains(where: { $0.user == user }) ?? false else {
                    continue
                }
                found.append(user)
                break
            }
        }
        return found
    }
}

/// A query for the keys that sign access tokens, and for the revocations of tokens.
public struct SigningQuery: Query {
    public typealias Answer = Signing
    public static let codes: [UInt8] = [28]
    public static let isForOperators = true

    public init() {}

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {}

    public func encode(into writer: inout ByteWriter) {}

    public var partition: String? { DocumentKey.signingPartition }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> Signing { try source.document(.signing)?.signing ?? Signing() }
}
