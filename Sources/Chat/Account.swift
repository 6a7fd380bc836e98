import CRDT
import Wire

extension Credentials {
    /// The account of one user: the password, and the sign-ins.
    ///
    /// An account lives from a sign-up to the next removal. As with devices, a removal wins over
    /// everything that had not seen it, and the next life starts empty: of two states, the one with
    /// the later removal is the whole result, and only states of one life merge field by field.
    public struct Account: Hashable, Sendable {
        public let user: UserID
        /// The stamp of the last removal; nil before the first.
        public private(set) var removed: Stamp?
        /// The stamp of the sign-up; nil while the account is removed.
        public private(set) var created: Stamp?
        /// The address as it was typed.
        private(set) var emailField: Register<FieldText>?
        /// The password as a hash that names its algorithm, parameters and salt.
        private(set) var passwordField: Register<FieldText>?
        private(set) var accessField: Register<Access>?
        /// The stamp of the last sign-out of all devices: sign-ins that began no later have ended.
        public private(set) var ended: Stamp?
        /// Ascending by beginning: the latest, at most `SignIn.countMax`; ended ones too.
        public private(set) var signIns: [SignIn]

        init(user: UserID) {
            self.user = user
            signIns = []
        }

        public var isPresent: Bool { created != nil }
        public var email: String { emailField?.value.text ?? "" }
        public var password: String { passwordField?.value.text ?? "" }
        public var isDisabled: Bool { accessField?.value == .disabled }
        var passwordStamp: Stamp? { passwordField?.stamp }
        var accessStamp: Stamp? { accessField?.stamp }

        /// Whether a sign-in that is not here may still arrive: it was dropped by neither of the
        /// rules by which sign-ins are, both of which go by its beginning.
        func mayLack(signInBegunAt began: HybridTimestamp) -> Bool {
            let isFull = signIns.count >= SignIn.countMax
            let earliest = isFull ? signIns.first?.began.time ?? .zero : .zero
            return max(ended?.time ?? .zero, earliest) < began
        }

        /// The stamps that the end of all sign-ins has to exceed: an access token names the last of
        /// them, and is refused if it is no later than the end.
        var stampsOfSignIns: [Stamp?] { [ended] + signIns.flatMap { [$0.began, $0.renewed] } }

        /// A sign-in by its id, which is random; of several with one id, one that has ended.
        public func signIn(_ id: SignInID) -> SignIn? {
            let all = signIns.filter { $0.id == id }
            return all.first { !$0.isOpen } ?? all.first
        }

        var greatestTime: HybridTimestamp {
            let stamps = [
                removed, created, emailField?.stamp, passwordField?.stamp, accessField?.stamp,
                ended,
            ]
            let latest = stamps.reduce(HybridTimestamp.zero) { max($0, $1?.time ?? .zero) }
            return signIns.reduce(latest) { max($0, $1.greatestTime) }
        }
    }

    /// The permission to use an account; the raw values are on the wire.
    enum Access: UInt8, Comparable, Sendable {
        case enabled = 1
        case disabled = 2

        static func < (left: Access, right: Access) -> Bool { left.rawValue < right.rawValue }
    }
}

extension Credentials.Account {
    /// When the change that an action asks for was made; nil where the account does not show it.
    public func time(of action: Credentials.Action) -> HybridTimestamp? {
        switch action {
        case .signUp: created?.time
        case .begin(let id, _): signIn(id)?.began.time
        case .renew(let id, _, _, _): signIn(id)?.renewed?.time
        case .setPassword, .endAll: ended?.time
        case .setDisabled: accessStamp?.time
        case .remove: removed?.time
        case .end: nil
        }
    }
}

// MARK: Changes

extension Credentials.Account {
    mutating func create(email: FieldText, password: FieldText, at stamp: Stamp) {
        created = created.map { min($0, stamp) } ?? stamp
        emailField = Register(email, at: stamp)
        passwordField = Register(password, at: stamp)
    }

    mutating func remove(at stamp: Stamp) {
        self = Credentials.Account(user: user)
        removed = stamp
    }

    mutating func setPassword(_ password: FieldText, at stamp: Stamp) {
        passwordField = Register(password, at: stamp)
    }

    mutating func setAccess(_ access: Credentials.Access, at stamp: Stamp) {
        accessField = Register(access, at: stamp)
    }

    mutating func begin(_ id: SignInID, _ secret: SecretDigest, at stamp: Stamp) {
        mergeSignIns([Credentials.SignIn(id, secret, began: stamp)])
    }

    mutating func update(_ id: SignInID, _ body: (inout Credentials.SignIn) -> Void) {
        for index in signIns.indices where signIns[index].id == id { body(&signIns[index]) }
    }

    mutating func endAll(at stamp: Stamp) {
        ended = stamp
        mergeSignIns([])
    }

    mutating func merge(_ other: Credentials.Account) {
        guard removed == other.removed else {
            if isEarlier(removed, than: other.removed) { self = other }
            return
        }
        created = [created, other.created].compactMap(\.self).min()
        emailField.merge(other.emailField)
        passwordField.merge(other.passwordField)
        accessField.merge(other.accessField)
        ended = [ended, other.ended].compactMap(\.self).max()
        mergeSignIns(other.signIns)
    }

    private func isEarlier(_ mine: Stamp?, than theirs: Stamp?) -> Bool {
        guard let theirs else { return false }
        return mine.map { $0 < theirs } ?? true
    }

    /// Adds sign-ins and keeps those that may be in use.
    ///
    /// Both rules keep the greatest by a stamp that never changes: what one replica has dropped, no
    /// merge brings back.
    private mutating func mergeSignIns(_ more: [Credentials.SignIn]) {
        let all = mergedAscending(signIns, more, by: \.began) { mine, theirs in
            var both = mine
            both.merge(theirs)
            return both
        }
        let open = all.filter { signIn in ended.map { signIn.began > $0 } ?? true }
        signIns = Array(open.suffix(Credentials.SignIn.countMax))
    }

    /// Whether the account is in the normal form in which a merge leaves it.
    var isNormal: Bool {
        let isBare =
            emailField == nil && passwordField == nil && accessField == nil && ended == nil
            && signIns.isEmpty
        let isWhole = emailField != nil && passwordField != nil
        return (isPresent ? isWhole : isBare && removed != nil)
            && signIns.count <= Credentials.SignIn.countMax
            && zip(signIns, signIns.dropFirst()).allSatisfy { $0.began < $1.began }
            && signIns.allSatisfy { signIn in ended.map { signIn.began > $0 } ?? true }
    }
}

// MARK: Coding

extension Credentials.Access: NumberedChoice, CaseIterable {
    static var noun: String { "a permission to use an account" }
    var number: UInt8 { rawValue }
}

extension Credentials.Account: WireValue {
    private enum FieldNumber {
        static let removed: UInt64 = 1
        static let created: UInt64 = 2
        static let email: UInt64 = 3
        static let password: UInt64 = 4
        static let access: UInt64 = 5
        static let ended: UInt64 = 6
        static let signIns: UInt64 = 7
    }

    public func encode(into writer: inout ByteWriter) {
        writer.write(user)
        var fields = Fields()
        fields.set(FieldNumber.removed, to: removed)
        fields.set(FieldNumber.created, to: created)
        fields.set(FieldNumber.email, to: emailField)
        fields.set(FieldNumber.password, to: passwordField)
        fields.set(FieldNumber.access, to: accessField)
        fields.set(FieldNumber.ended, to: ended)
        fields.set(FieldNumber.signIns, toList: signIns)
        fields.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(user: try reader.readName())
        var fields = try Fields(from: &reader)
        removed = try fields.take(FieldNumber.removed)
        created = try fields.take(FieldNumber.created)
        emailField = try fields.take(FieldNumber.email)
        passwordField = try fields.take(FieldNumber.password)
        accessField = try fields.take(FieldNumber.access)
        ended = try fields.take(FieldNumber.ended)
        signIns = try fields.take(FieldNumber.signIns, orEmpty: [], "sign-ins")
        guard fields.isEmpty else { throw .invalid("the fields of an account") }
    }
}
