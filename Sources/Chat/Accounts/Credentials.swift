import CRDT
import Wire

/// The accounts that have the same e-mail address.
///
/// An address has one account, unless it was signed up on two sides of a network partition. If it
/// was, each account keeps its own user, password and sign-ins, so that everybody who signed up can
/// sign in; a search by the address finds the account that was created first. The data of different
/// accounts are never merged.
public struct Credentials: Hashable, Sendable {
    /// The accounts, including removed ones, ascending by user; one for each user.
    public private(set) var accounts: [Account]

    init() { accounts = [] }

    /// The accounts that are not removed, in the order of their creation.
    public var present: [Account] {
        let dated = accounts.compactMap { account in
            account.created.map { (created: $0, account: account) }
        }
        return dated.sorted { ($0.created, $0.account.user) < ($1.created, $1.account.user) }
            .map(\.account)
    }

    public func account(of user: UserID) -> Account? { accounts.first { $0.user == user } }

    var greatestTime: HybridTimestamp {
        accounts.reduce(.zero) { max($0, $1.greatestTime) }
    }

    /// Changes the account of one user; adds an empty account first if the user has none.
    mutating func update(_ user: UserID, _ body: (inout Account) -> Void) {
        var account = self.account(of: user) ?? Account(user: user)
        body(&account)
        accounts.removeAll { $0.user == user }
        let index = accounts.firstIndex { $0.user > user } ?? accounts.endIndex
        accounts.insert(account, at: index)
    }

    mutating func merge(_ other: Credentials) {
        accounts = mergedAscending(accounts, other.accounts, by: \.user) { mine, theirs in
            var both = mine
            both.merge(theirs)
            return both
        }
    }
}

extension Credentials {
    private enum FieldNumber {
        static let accounts: UInt64 = 1
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.accounts, toList: accounts)
    }

    init(from fields: inout Fields) throws(WireError) {
        accounts = try fields.take(FieldNumber.accounts, orEmpty: [], "accounts")
            .ascending("accounts", by: \.user)
        guard accounts.allSatisfy(\.isNormal) else {
            throw .invalid("an account as a merge leaves it")
        }
    }
}
