import CRDT
import Wire

extension Credentials {
    /// An account of one user: the e-mail address, the password and the sign-ins.
    ///
    /// A life of an account lasts from a sign-up to the next removal. As with devices, a removal
    /// wins over all concurrent changes, and the next life starts empty: of two states with
    /// different removals, a merge keeps the one with the later removal; only states of the same
    /// life merge field by field. The ends of sign-ins belong to no life: a node can end a sign-in
    /// without knowing in which life it began.
    public struct Account: Hashable, Sendable {
        public let user: UserID
        /// The stamp of the last removal of the account; nil before the first removal.
        public private(set) var removed: Stamp?
        /// The stamp of the sign-up; nil while the account is removed.
        public private(set) var created: Stamp?
        /// The e-mail address as the user typed it.
        private(set) var emailField: Register<FieldText>?
        /// The password as a hash that names its algorithm, parameters and salt.
        private(set) var passwordField: Register<FieldText>?
        private(set) var accessField: Register<Access>?
        /// The stamp of the last sign-out of all devices: all sign-ins that began no later than
        /// this stamp have ended.
        public private(set) var ended: Stamp?
        /// The sign-ins, ascending by the stamp of their beginning.
        ///
        /// All are open, except sign-ins that a node of an earlier version ended; other ended
        /// sign-ins are in `ends`.
        public private(set) var signIns: [SignIn]
        /// The ends of sign-ins, ascending by id, also of sign-ins that never reached this replica.
        private(set) var ends: [SignInEnd]
        /// A sign-in that is not in `signIns` and began no later than this time has ended.
        ///
        /// The time replaces the oldest entries of `ends`, which are dropped.
        private(set) var endedThrough: HybridTimestamp

        init(user: UserID) {
            self.user = user
            signIns = []
            ends = []
            endedThrough = .zero
        }

        public var isPresent: Bool { created != nil }
        public var email: String { emailField?.value.text ?? "" }
        public var password: String { passwordField?.value.text ?? "" }
        public var isDisabled: Bool { accessField?.value == .disabled }
        var passwordStamp: Stamp? { passwordField?.stamp }
        var accessStamp: Stamp? { accessField?.stamp }

        /// A time such that every sign-in that began no later and is not in `signIns` has ended.
        private var lastKnownEnd: HybridTimestamp { max(lastEndOfAll, endedThrough) }

        /// The time of the last sign-out of all devices or removal, which ended all earlier
        /// sign-ins.
        private var lastEndOfAll: HybridTimestamp {
            max(ended?.time ?? .zero, removed?.time ?? .zero)
        }

        /// Returns why a sign-in that is not in `signIns` may not be used: it has ended, or its
        /// record has not reached this replica yet.
        func refusal(of id: SignInID, begunAt began: HybridTimestamp) -> Refusal {
            if let end = ends.first(where: { $0.id == id }) { return end.reason.refusal }
            return lastKnownEnd < began ? .signInBehind : .signInEnded
        }

        /// Whether `ends` contains the end of the sign-in.
        func hasEnd(of id: SignInID) -> Bool { ends.contains { $0.id == id } }

        /// Whether the end of a sign-in has to be recorded; this may be so even for a sign-in that
        /// is not in `signIns`.
        ///
        /// - Parameter began: the time at which the sign-in began; nil if it is unknown.
        func lacksEnd(of id: SignInID, begunAt began: HybridTimestamp?) -> Bool {
            if let signIn = signIn(id) { return signIn.isOpen }
            #if PlantedBugs
                if PlantedBug.unknownEndDropped.isOn { return false }
            #endif
            guard !hasEnd(of: id) else { return false }
            return began.map { lastKnownEnd < $0 } ?? true
        }

        /// The stamps that a sign-out of all devices has to exceed.
        ///
        /// An access token contains the latest of them, and is refused if that stamp is no later
        /// than the sign-out.
        var stampsOfSignIns: [Stamp?] { [ended] + signIns.flatMap { [$0.began, $0.renewed] } }

        /// Returns the sign-in with the id `id`.
        ///
        /// Ids are random; if several sign-ins have the same id, an ended one is returned.
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
            let known = ends.reduce(max(latest, endedThrough)) { max($0, $1.began) }
            return signIns.reduce(known) { max($0, $1.greatestTime) }
        }
    }

    /// The permission to use an account; the raw values are on the wire.
    enum Access: UInt8, Comparable, Sendable {
        case enabled = 1
        case disabled = 2

        static func < (left: Access, right: Access) -> Bool { left.rawValue < right.rawValue }
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
        var next = Credentials.Account(user: user)
        next.removed = stamp
        next.mergeEnds(of: self)
        self = next
    }

    mutating func setPassword(_ password: FieldText, at stamp: Stamp) {
        passwordField = Register(password, at: stamp)
    }

    mutating func setAccess(_ access: Credentials.Access, at stamp: Stamp) {
        accessField = Register(access, at: stamp)
    }

    /// Adds a sign-in that the present password permits.
    ///
    /// If there are too many sign-ins, the least recently used ones end.
    mutating func begin(_ id: SignInID, _ secret: SecretDigest, at stamp: Stamp) {
        let open = signIns.filter(\.isOpen).sorted { $0.greatestTime < $1.greatestTime }
        let surplus = max(0, open.count + 1 - Credentials.SignIn.countMax)
        noteEnds(of: signIns.filter { !$0.isOpen }, .signedOut)
        noteEnds(of: Array(open.prefix(surplus)), .displaced)
        let signIn = Credentials.SignIn(
            id, secret, began: stamp, password: passwordField?.stamp.time)
        settle(merging: [signIn])
        forgetEnds()
    }

    mutating func update(_ id: SignInID, _ body: (inout Credentials.SignIn) -> Void) {
        for index in signIns.indices where signIns[index].id == id { body(&signIns[index]) }
    }

    /// Ends a sign-in, even one whose beginning has not reached this replica.
    ///
    /// - Parameter began: the time at which the sign-in began, or any later time if it is unknown.
    mutating func end(_ id: SignInID, began: HybridTimestamp) {
        let known = signIns.filter { $0.id == id }.map(\.began.time).max() ?? .zero
        noteEnd(of: id, began: max(known, began), .signedOut)
        settle()
        forgetEnds()
    }

    mutating func endAll(at stamp: Stamp) {
        ended = stamp
        settle()
    }

    /// Drops the oldest ends beyond `SignInEnd.countMax` and raises `endedThrough` accordingly.
    ///
    /// Only changes drop ends, and never merges: if a merge dropped ends, its result could depend
    /// on the order of merges.
    private mutating func forgetEnds() {
        let surplus = ends.count - Credentials.SignInEnd.countMax
        guard surplus > 0 else { return }
        endedThrough = ends.map(\.began).sorted()[surplus - 1]
        settle()
    }

    mutating func merge(_ other: Credentials.Account) {
        guard removed == other.removed else {
            let isEarlier = isEarlier(removed, than: other.removed)
            let former = isEarlier ? self : other
            if isEarlier { self = other }
            // All sign-ins of the earlier life have ended.
            noteEnds(of: former.signIns, .superseded)
            return mergeEnds(of: former)
        }
        created = [created, other.created].compactMap(\.self).min()
        emailField.mergeTogether(other.emailField)
        passwordField.mergeTogether(other.passwordField)
        accessField.mergeTogether(other.accessField)
        let theirs = other.signIns.filter { !hasForgotten($0) }
        mergeEnds(of: other, adding: theirs)
    }

    private mutating func mergeEnds(
        of other: Credentials.Account, adding signIns: [Credentials.SignIn] = []
    ) {
        self.signIns = self.signIns.filter { !other.hasForgotten($0) }
        ended = [ended, other.ended].compactMap(\.self).max()
        endedThrough = max(endedThrough, other.endedThrough)
        settle(merging: signIns, other.ends)
    }

    /// Whether a sign-in of another replica has ended on this one, which has since dropped the end.
    private func hasForgotten(_ signIn: Credentials.SignIn) -> Bool {
        signIn.began.time <= endedThrough && !signIns.contains { $0.began == signIn.began }
    }

    private func isEarlier(_ mine: Stamp?, than theirs: Stamp?) -> Bool {
        guard let theirs else { return false }
        return mine.map { $0 < theirs } ?? true
    }

    /// Merges sign-ins and ends, and removes the sign-ins that have ended and the ends that
    /// `lastKnownEnd` implies.
    ///
    /// A sign-in that an earlier password permitted is ended here, since the node that changed the
    /// password could not end a sign-in that it did not know.
    private mutating func settle(
        merging more: [Credentials.SignIn] = [], _ moreEnds: [Credentials.SignInEnd] = []
    ) {
        let all = mergedAscending(signIns, more, by: \.began) { mine, theirs in
            var both = mine
            both.merge(theirs)
            return both
        }
        ends = mergedAscending(ends, moreEnds, by: \.id) { $0.merged(with: $1) }
        noteEnds(of: all.filter(isOutdated), .superseded)
        let (ends, last) = (ends, lastEndOfAll)
        signIns = all.filter { signIn in
            signIn.began.time > last && !ends.contains { $0.covers(signIn) }
        }
        self.ends = ends.filter { $0.began > lastKnownEnd }
    }

    /// Adds the ends of `signIns` to `ends`, from which `settle` removes these sign-ins; two
    /// sign-ins may have the same id.
    private mutating func noteEnds(
        of signIns: [Credentials.SignIn], _ reason: Credentials.SignInEnd.Reason
    ) {
        for signIn in signIns { noteEnd(of: signIn.id, began: signIn.began.time, reason) }
    }

    private mutating func noteEnd(
        of id: SignInID, began: HybridTimestamp, _ reason: Credentials.SignInEnd.Reason
    ) {
        let end = Credentials.SignInEnd(id: id, began: began, reason: reason)
        ends = mergedAscending(ends, [end], by: \.id) { $0.merged(with: $1) }
    }

    private func isOutdated(_ signIn: Credentials.SignIn) -> Bool {
        #if PlantedBugs
            if PlantedBug.oldPasswordSurvives.isOn { return false }
        #endif
        guard let password = signIn.password, let passwordStamp else { return false }
        return password < passwordStamp.time
    }

    /// Whether the account is in the normal form in which a merge leaves it.
    var isNormal: Bool {
        let isBare =
            emailField == nil && passwordField == nil && accessField == nil && signIns.isEmpty
        let isKnown = removed != nil || ended != nil || !ends.isEmpty || endedThrough > .zero
        let isWhole = emailField != nil && passwordField != nil
        return (isPresent ? isWhole : isBare && isKnown)
            && zip(signIns, signIns.dropFirst()).allSatisfy { $0.began < $1.began }
            && zip(ends, ends.dropFirst()).allSatisfy { $0.id < $1.id }
            && ends.allSatisfy { $0.began > lastKnownEnd }
            && signIns.allSatisfy { signIn in
                (ended.map { signIn.began > $0 } ?? true) && !isOutdated(signIn)
                    && !ends.contains { $0.covers(signIn) }
            }
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
        /// The number of the field of sign-ins without a password time, as of earlier versions.
        static let signIns: UInt64 = 7
        static let judgedSignIns: UInt64 = 8
        static let ends: UInt64 = 9
        static let endedThrough: UInt64 = 10
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
        fields.set(FieldNumber.signIns, toList: signIns.filter { $0.password == nil })
        fields.set(
            FieldNumber.judgedSignIns, toList: signIns.compactMap(Credentials.JudgedSignIn.init))
        fields.set(FieldNumber.ends, toList: ends)
        if endedThrough > .zero { fields.set(FieldNumber.endedThrough, to: endedThrough) }
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
        let unjudged: [Credentials.SignIn] = try fields.take(
            FieldNumber.signIns, orEmpty: [], "sign-ins")
        let judged: [Credentials.JudgedSignIn] = try fields.take(
            FieldNumber.judgedSignIns, orEmpty: [], "sign-ins")
        for list in [unjudged.map(\.began), judged.map(\.signIn.began)] {
            _ = try list.ascending("sign-ins", by: \.self)
        }
        signIns = mergedAscending(unjudged, judged.map(\.signIn), by: \.began) { mine, _ in mine }
        guard signIns.count == unjudged.count + judged.count else { throw .invalid("sign-ins") }
        ends = try fields.take(FieldNumber.ends, orEmpty: [], "ends of sign-ins")
        endedThrough = try fields.take(
            FieldNumber.endedThrough, orEmpty: .zero, "a time of sign-ins")
        guard fields.isEmpty else { throw .invalid("the fields of an account") }
    }
}
