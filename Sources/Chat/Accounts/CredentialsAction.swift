import CRDT
import Wire

extension Credentials {
    /// A change of an account, which a node makes for the user or for an operator.
    public enum Action: Hashable, Sendable {
        case signUp(email: FieldText, password: FieldText)
        /// Ends all sign-ins, too.
        case setPassword(FieldText)
        /// Ends all sign-ins, too, where the account is disabled, or was.
        case setDisabled(Bool)
        /// Removes the account from this address: it is deleted, or signs in with another one.
        case remove
        /// Signs in with a password, which is refused where it is not the present one; nil for the
        /// present one, whichever it is.
        case begin(SignInID, SecretDigest, judgedBy: FieldText?)
        /// Replaces the refresh token of a sign-in, which must be `renewal.replaced` and was issued
        /// at this time, for a sign-in that began then.
        case renew(SignInID, Renewal, issued: HybridTimestamp, began: HybridTimestamp)
        /// Ends a sign-in, whether it is known or not, that began at this time; nil where that is
        /// not known.
        case end(SignInID, began: HybridTimestamp?)
        /// Ends all sign-ins that began before.
        case endAll
    }
}

extension Credentials.Action {
    /// Returns whether the action changes anything; throws where it is refused.
    func judge(_ credentials: Credentials?, by user: UserID) throws(Refusal) -> Bool {
        if case .signUp = self {
            guard let credentials, !credentials.present.isEmpty else { return true }
            guard credentials.account(of: user)?.isPresent ?? false else { throw .emailInUse }
            return false
        }
        let known = credentials?.account(of: user)
        guard let account = known, account.isPresent else {
            // A user who is signed in has an account, which may not have arrived yet.
            if case .end(let id, let began) = self {
                return known?.lacksEnd(of: id, begunAt: began) ?? true
            }
            if case .endAll = self { return true }
            if case .renew(let id, _, _, let began) = self, let known, known.hasEnd(of: id) {
                throw known.refusal(of: id, begunAt: began)
            }
            // A node has seen the account that it signs a user in to; this one may not have yet.
            if case .renew(_, _, _, let began) = self, known?.removed?.time ?? .zero < began {
                throw .signInBehind
            }
            throw .accountNotFound
        }
        switch self {
        case .signUp, .remove, .endAll: return true
        case .setPassword(let password): return !haveSameBytes(account.password, password.text)
        // Also where it is so already: an earlier change of the same operator may still arrive.
        case .setDisabled: return true
        case .begin(let id, _, let password):
            guard !account.isDisabled else { throw .accountDisabled }
            if let password, !haveSameBytes(account.password, password.text) {
                throw .passwordUnsettled
            }
            return account.signIn(id) == nil && !account.hasEnd(of: id)
        case .renew(let id, let renewal, let issued, let began):
            guard let signIn = account.signIn(id) else {
                throw account.refusal(of: id, begunAt: began)
            }
            guard !account.isDisabled else { throw .accountDisabled }
            guard let current = signIn.renewal, let renewed = signIn.renewed else {
                throw .signInEnded
            }
            // A client that was not told the answer asks again, and a node looks again whether the
            // renewal stands: no two of them have one secret.
            if current == renewal { return false }
            guard current.secret == renewal.replaced else {
                throw issued > renewed.time ? .signInBehind : .refreshTokenUsed
            }
            return true
        case .end(let id, let began):
            return account.lacksEnd(of: id, begunAt: began)
        }
    }

    func applied(to content: Credentials?, by user: UserID, _ author: Authorship) -> Credentials {
        var credentials = content ?? Credentials()
        let stamp = author.stamp
        credentials.update(user) { account in
            switch self {
            case .signUp(let email, let password):
                account.create(email: email, password: password, at: stamp)
            case .setPassword(let password):
                account.setPassword(password, at: stamp)
                account.endAll(at: stamp)
            case .setDisabled(let isDisabled):
                let wasDisabled = account.isDisabled
                account.setAccess(isDisabled ? .disabled : .enabled, at: stamp)
                if isDisabled || wasDisabled { account.endAll(at: stamp) }
            case .remove: account.remove(at: stamp)
            case .begin(let id, let secret, _): account.begin(id, secret, at: stamp)
            case .renew(let id, let renewal, _, _):
                account.update(id) { $0.renew(renewal, at: stamp) }
            case .end(let id, let began): account.end(id, began: began ?? stamp.time)
            case .endAll: account.endAll(at: stamp)
            }
        }
        return credentials
    }
}

extension Credentials.Action: DocumentAction {
    public func standing(of operation: Stamp, by user: UserID, in content: Credentials) -> Standing
    {
        guard let account = content.account(of: user) else { return .new }
        if case .begin = self {
            if account.signIns.contains(where: { $0.began == operation }) { return .done }
            if operation.time <= account.endedThrough { return .stale(account.endedThrough) }
        }
        return .ofWriting(operation, over: stampsOverwritten(in: account))
    }

    private func stampsOverwritten(in account: Credentials.Account) -> [Stamp?] {
        switch self {
        case .signUp: [account.removed, account.created]
        case .setPassword: [account.removed, account.passwordStamp] + account.stampsOfSignIns
        case .setDisabled: [account.removed, account.accessStamp] + account.stampsOfSignIns
        case .begin: [account.removed, account.ended]
        case .renew(let id, _, _, _):
            [account.removed, account.ended, account.signIn(id)?.renewed]
        case .end: []
        case .endAll: [account.removed] + account.stampsOfSignIns
        case .remove:
            [account.removed, account.created, account.passwordStamp] + account.stampsOfSignIns
        }
    }

    public func nameBytes(by user: UserID) -> Int {
        switch self {
        case .signUp(let email, let password):
            nameBytesMax + email.text.utf8.count + password.text.utf8.count
        case .setPassword(let password): password.text.utf8.count
        case .begin(_, _, let password): 4 * nameBytesMax + (password?.text.utf8.count ?? 0)
        case .renew: 4 * nameBytesMax
        case .setDisabled, .remove, .end, .endAll: 0
        }
    }

    public var growth: ActionGrowth {
        switch self {
        case .signUp, .begin: .adds
        case .setPassword, .setDisabled, .renew, .end, .endAll: .settles
        case .remove: .empties
        }
    }

    public var deletes: Bool {
        switch self {
        case .remove, .end, .endAll: true
        case .signUp, .setPassword, .setDisabled, .begin, .renew: false
        }
    }

    static let kind: UInt8 = 40

    public var kind: UInt8 { Credentials.Action.kind }

    public func encodeRest(into writer: inout ByteWriter) { encode(into: &writer) }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        guard kind == Credentials.Action.kind else { return nil }
        try self.init(from: &reader)
    }
}

extension Credentials.Action: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .signUp(let email, let password):
            writer.write(1)
            email.encode(into: &writer)
            password.encode(into: &writer)
        case .setPassword(let password):
            writer.write(2)
            password.encode(into: &writer)
        case .setDisabled(let isDisabled):
            writer.write(3)
            writer.write(isDisabled)
        case .remove: writer.write(4)
        case .begin(let id, let secret, let password):
            writer.write(password == nil ? 5 : 9)
            writer.write(id)
            writer.write(secret)
            if let password { password.encode(into: &writer) }
        case .renew(let id, let renewal, let issued, let began):
            writer.write(6)
            writer.write(id)
            renewal.encode(into: &writer)
            issued.encode(into: &writer)
            began.encode(into: &writer)
        case .end(let id, let began):
            writer.write(began == nil ? 7 : 10)
            writer.write(id)
            if let began { began.encode(into: &writer) }
        case .endAll: writer.write(8)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1:
            self = .signUp(
                email: try FieldText(from: &reader), password: try FieldText(from: &reader))
        case 2: self = .setPassword(try FieldText(from: &reader))
        case 3: self = .setDisabled(try reader.readFlag())
        case 4: self = .remove
        case 5: self = .begin(try reader.readName(), try reader.readName(), judgedBy: nil)
        case 6:
            self = .renew(
                try reader.readName(), try Credentials.Renewal(from: &reader),
                issued: try HybridTimestamp(from: &reader),
                began: try HybridTimestamp(from: &reader))
        case 7: self = .end(try reader.readName(), began: nil)
        case 8: self = .endAll
        case 9:
            self = .begin(
                try reader.readName(), try reader.readName(),
                judgedBy: try FieldText(from: &reader))
        case 10: self = .end(try reader.readName(), began: try HybridTimestamp(from: &reader))
        default: throw .unknown
        }
    }
}
