import CRDT
import Wire

/// An action that begins a sign-in.
public struct BeginSignIn: CredentialsAction {
    public static let codes = [ActionCode(40, 5), ActionCode(40, 9)]

    public let id: SignInID
    public let secret: SecretDigest
    /// The password that was verified; nil where the sign-in does not depend on one.
    ///
    /// The action is refused where this is not the present password.
    public let password: FieldText?

    public init(_ id: SignInID, _ secret: SecretDigest, judgedBy password: FieldText?) {
        self.id = id
        self.secret = secret
        self.password = password
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        secret = try reader.readName()
        password = code == Self.codes[1] ? try FieldText(from: &reader) : nil
    }

    public var code: ActionCode { Self.codes[password == nil ? 0 : 1] }

    public func encodeRest(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(secret)
        password?.encode(into: &writer)
    }

    public func judge(_ account: Credentials.Account) throws(Refusal) -> Bool {
        guard !account.isDisabled else { throw .accountDisabled }
        if let password, !haveSameBytes(account.password, password.text) {
            throw .passwordUnsettled
        }
        return account.signIn(id) == nil && !account.hasEnd(of: id)
    }

    public func apply(to account: inout Credentials.Account, at stamp: Stamp) {
        account.begin(id, secret, at: stamp)
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Credentials) -> Standing
    {
        guard let account = content.account(of: user) else { return .new }
        if account.signIns.contains(where: { $0.began == operation }) { return .done }
        if operation.time <= account.endedThrough { return .stale(account.endedThrough) }
        return .ofWriting(operation, over: stampsOverwritten(in: account))
    }

    public func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] {
        [account.removed, account.ended]
    }

    public func time(in account: Credentials.Account) -> HybridTimestamp? {
        account.signIn(id)?.began.time
    }

    public func nameBytes(by user: UserID) -> Int {
        4 * nameBytesMax + (password?.text.utf8.count ?? 0)
    }
}

/// An action that replaces the refresh token of a sign-in, which must be `renewal.replaced`.
public struct RenewSignIn: CredentialsAction {
    public static let codes = [ActionCode(40, 6)]

    public let id: SignInID
    public let renewal: Credentials.Renewal
    /// When the replaced token was issued.
    public let issued: HybridTimestamp
    /// When the sign-in began.
    public let began: HybridTimestamp

    public init(
        _ id: SignInID, _ renewal: Credentials.Renewal, issued: HybridTimestamp,
        began: HybridTimestamp
    ) {
        self.id = id
        self.renewal = renewal
        self.issued = issued
        self.began = began
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        renewal = try Credentials.Renewal(from: &reader)
        issued = try HybridTimestamp(from: &reader)
        began = try HybridTimestamp(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) {
        writer.write(id)
        renewal.encode(into: &writer)
        issued.encode(into: &writer)
        began.encode(into: &writer)
    }

    public func judge(_ account: Credentials.Account) throws(Refusal) -> Bool {
        guard let signIn = account.signIn(id) else {
            throw account.refusal(of: id, begunAt: began)
        }
        guard !account.isDisabled else { throw .accountDisabled }
        guard let current = signIn.renewal, let renewed = signIn.renewed else {
            throw .signInEnded
        }
        // A client that did not receive the answer repeats the request, and a node checks again
        // whether the renewal is valid: no two of them have one secret.
        if current == renewal { return false }
        guard current.secret == renewal.replaced else {
            throw issued > renewed.time ? .signInBehind : .refreshTokenUsed
        }
        return true
    }

    /// A node has seen the account that it signs a user in to; this one may not have yet.
    public func judgeMissing(_ removed: Credentials.Account?) throws(Refusal) -> Bool {
        if let removed, removed.hasEnd(of: id) { throw removed.refusal(of: id, begunAt: began) }
        throw removed?.removed?.time ?? .zero < began ? .signInBehind : .accountNotFound
    }

    public func apply(to account: inout Credentials.Account, at stamp: Stamp) {
        account.update(id) { $0.renew(renewal, at: stamp) }
    }

    public func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] {
        [account.removed, account.ended, account.signIn(id)?.renewed]
    }

    public func time(in account: Credentials.Account) -> HybridTimestamp? {
        account.signIn(id)?.renewed?.time
    }

    public func nameBytes(by user: UserID) -> Int { 4 * nameBytesMax }
    public var growth: ActionGrowth { .settles }
}

/// An action that ends a sign-in, whether the sign-in is known or not.
public struct EndSignIn: CredentialsAction {
    public static let codes = [ActionCode(40, 7), ActionCode(40, 10)]

    public let id: SignInID
    /// When the sign-in began; nil where that is not known.
    public let began: HybridTimestamp?

    public init(_ id: SignInID, began: HybridTimestamp?) {
        self.id = id
        self.began = began
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        began = code == Self.codes[1] ? try HybridTimestamp(from: &reader) : nil
    }

    public var code: ActionCode { Self.codes[began == nil ? 0 : 1] }

    public func encodeRest(into writer: inout ByteWriter) {
        writer.write(id)
        began?.encode(into: &writer)
    }

    public func judge(_ account: Credentials.Account) throws(Refusal) -> Bool {
        account.lacksEnd(of: id, begunAt: began)
    }

    /// A user who is signed in has an account, which may not have arrived yet.
    public func judgeMissing(_ removed: Credentials.Account?) throws(Refusal) -> Bool {
        removed?.lacksEnd(of: id, begunAt: began) ?? true
    }

    public func apply(to account: inout Credentials.Account, at stamp: Stamp) {
        account.end(id, began: began ?? stamp.time)
    }

    public func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] { [] }
    public func time(in account: Credentials.Account) -> HybridTimestamp? { nil }

    public var growth: ActionGrowth { .settles }
    public var deletes: Bool { true }
}

/// An action that ends all sign-ins that began before.
public struct EndAllSignIns: CredentialsAction, PlainAction {
    public static let codes = [ActionCode(40, 8)]

    public init() {}

    public func judge(_ account: Credentials.Account) throws(Refusal) -> Bool { true }

    /// A user who is signed in has an account, which may not have arrived yet.
    public func judgeMissing(_ removed: Credentials.Account?) throws(Refusal) -> Bool { true }

    public func apply(to account: inout Credentials.Account, at stamp: Stamp) {
        account.endAll(at: stamp)
    }

    public func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] {
        [account.removed] + account.stampsOfSignIns
    }

    public func time(in account: Credentials.Account) -> HybridTimestamp? { account.ended?.time }

    public var growth: ActionGrowth { .settles }
    public var deletes: Bool { true }
}
