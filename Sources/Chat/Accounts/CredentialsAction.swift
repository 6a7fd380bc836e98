import CRDT
import Wire

/// A change of an account, which a node makes for the user or for an operator.
///
/// Each action is a type, with its entry in `Credentials.actions`.
public protocol CredentialsAction: DocumentAction where Content == Credentials {
    /// Returns whether the action would change an account; throws where it is refused.
    func judge(_ account: Credentials.Account) throws(Refusal) -> Bool

    /// Returns the same where no account is known.
    ///
    /// - Parameter removed: the entry of an account that was removed, or of a user of whom only
    ///   ends of sign-ins are known; nil where nothing is known of the user.
    func judgeMissing(_ removed: Credentials.Account?) throws(Refusal) -> Bool

    func apply(to account: inout Credentials.Account, at stamp: Stamp)

    func stampsOverwritten(in account: Credentials.Account) -> [Stamp?]

    /// Returns when the requested change was made; nil where the account does not show it.
    func time(in account: Credentials.Account) -> HybridTimestamp?
}

extension Credentials {
    static let actions: [any DocumentAction.Type] = [
        SignUp.self, SetPassword.self, SetAccountDisabled.self, RemoveAccount.self,
        BeginSignIn.self, RenewSignIn.self, EndSignIn.self, EndAllSignIns.self,
    ]
}

extension Mutation {
    public convenience init(
        _ action: some CredentialsAction, at address: AddressID, of user: UserID
    ) {
        self.init(action, at: .credentials(address), by: user)
    }
}

extension CredentialsAction {
    public func judgeMissing(_ removed: Credentials.Account?) throws(Refusal) -> Bool {
        throw .accountNotFound
    }

    public func judge(
        _ credentials: Credentials?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        let known = credentials?.account(of: user)
        guard let known, known.isPresent else { return try judgeMissing(known) }
        return try judge(known)
    }

    public func applied(
        to content: Credentials?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Credentials {
        var credentials = content ?? Credentials()
        credentials.update(user) { apply(to: &$0, at: author.stamp) }
        return credentials
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Credentials) -> Standing
    {
        content.account(of: user).map {
            .ofWriting(operation, over: stampsOverwritten(in: $0))
        } ?? .new
    }

    public func nameBytes(by user: UserID) -> Int { 0 }
    public var isForOperators: Bool { true }
}

// MARK: Accounts

/// An action that creates an account at an address.
public struct SignUp: CredentialsAction {
    public static let codes = [ActionCode(40, 1)]

    public let email: FieldText
    public let password: FieldText

    public init(email: FieldText, password: FieldText) {
        self.email = email
        self.password = password
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        email = try FieldText(from: &reader)
        password = try FieldText(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) {
        email.encode(into: &writer)
        password.encode(into: &writer)
    }

    public func judge(
        _ credentials: Credentials?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        guard let credentials, !credentials.present.isEmpty else { return true }
        guard let account = credentials.account(of: user), account.isPresent else {
            throw .emailInUse
        }
        return try judge(account)
    }

    public func judge(_ account: Credentials.Account) throws(Refusal) -> Bool { false }

    public func apply(to account: inout Credentials.Account, at stamp: Stamp) {
        account.create(email: email, password: password, at: stamp)
    }

    public func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] {
        [account.removed, account.created]
    }

    public func time(in account: Credentials.Account) -> HybridTimestamp? { account.created?.time }

    public func nameBytes(by user: UserID) -> Int {
        nameBytesMax + email.text.utf8.count + password.text.utf8.count
    }

    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool {
        condition(user.text)
    }
}

/// An action that sets the password of an account and ends all its sign-ins.
public struct SetPassword: CredentialsAction {
    public static let codes = [ActionCode(40, 2)]

    public let password: FieldText

    public init(_ password: FieldText) { self.password = password }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        password = try FieldText(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) { password.encode(into: &writer) }

    public func judge(_ account: Credentials.Account) throws(Refusal) -> Bool {
        !haveSameBytes(account.password, password.text)
    }

    public func apply(to account: inout Credentials.Account, at stamp: Stamp) {
        account.setPassword(password, at: stamp)
        account.endAll(at: stamp)
    }

    public func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] {
        [account.removed, account.passwordStamp] + account.stampsOfSignIns
    }

    public func time(in account: Credentials.Account) -> HybridTimestamp? { account.ended?.time }

    public func nameBytes(by user: UserID) -> Int { password.text.utf8.count }
    public var growth: ActionGrowth { .settles }
}

/// An action that disables or enables an account, and ends all its sign-ins where it is disabled,
/// or was.
public struct SetAccountDisabled: CredentialsAction {
    public static let codes = [ActionCode(40, 3)]

    public let isDisabled: Bool

    public init(_ isDisabled: Bool) { self.isDisabled = isDisabled }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        isDisabled = try reader.readFlag()
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(isDisabled) }

    /// Also where the account is as requested: an earlier change of the same operator may still
    /// arrive.
    public func judge(_ account: Credentials.Account) throws(Refusal) -> Bool { true }

    public func apply(to account: inout Credentials.Account, at stamp: Stamp) {
        let wasDisabled = account.isDisabled
        account.setAccess(isDisabled ? .disabled : .enabled, at: stamp)
        if isDisabled || wasDisabled { account.endAll(at: stamp) }
    }

    public func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] {
        [account.removed, account.accessStamp] + account.stampsOfSignIns
    }

    public func time(in account: Credentials.Account) -> HybridTimestamp? {
        account.accessStamp?.time
    }

    public var growth: ActionGrowth { .settles }
}

/// An action that removes an account from an address: the account is deleted, or gets another
/// address.
public struct RemoveAccount: CredentialsAction, PlainAction {
    public static let codes = [ActionCode(40, 4)]

    public init() {}

    public func judge(_ account: Credentials.Account) throws(Refusal) -> Bool { true }

    public func apply(to account: inout Credentials.Account, at stamp: Stamp) {
        account.remove(at: stamp)
    }

    public func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] {
        [account.removed, account.created, account.passwordStamp] + account.stampsOfSignIns
    }

    public func time(in account: Credentials.Account) -> HybridTimestamp? { account.removed?.time }

    public var growth: ActionGrowth { .empties }
    public var deletes: Bool { true }
}
