import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct CredentialsTests {
    static let address = AddressID(checked: "a0")
    static let key = DocumentKey.credentials(address)

    static let renewal = Credentials.Renewal(
        secret: secret("r2"), replaced: secret("r1"), request: secret("q"))
    static let actions: [any CredentialsAction] = [
        SignUp(email: FieldText("Al@example.org"), password: FieldText("hash")),
        SetPassword(FieldText("hash 2")), SetAccountDisabled(true), SetAccountDisabled(false),
        RemoveAccount(),
        BeginSignIn(signIn("s1"), secret("r1"), judgedBy: nil),
        RenewSignIn(
            signIn("s1"), renewal, issued: HybridTimestamp(milliseconds: 7),
            began: HybridTimestamp(milliseconds: 5)),
        EndSignIn(signIn("s1"), began: nil), EndAllSignIns(),
        BeginSignIn(signIn("s1"), secret("r1"), judgedBy: FieldText("hash")),
        EndSignIn(signIn("s1"), began: HybridTimestamp(milliseconds: 5)),
    ]

    static func secret(_ text: String) -> SecretDigest { SecretDigest(checked: text) }
    static func signIn(_ text: String) -> SignInID { SignInID(checked: text) }

    /// - Parameter idsCount: the number of different ids of sign-ins; the smaller, the more often
    ///   ends with one id and different times meet.
    private static func action(
        on account: Credentials.Account?, _ idsCount: Int, _ random: inout SplitMix64
    ) -> any CredentialsAction {
        guard let account, account.isPresent else {
            if random.chance(20) { return end(of: nil, idsCount, &random) }
            return SignUp(email: FieldText("e"), password: FieldText("p\(random.below(9))"))
        }
        let signIns = account.signIns
        switch random.below(12) {
        case 0: return SignUp(email: FieldText("e"), password: FieldText("p"))
        case 1: return SetPassword(FieldText("p\(random.below(9))"))
        case 2: return SetAccountDisabled(random.chance(30))
        case 3: return random.chance(30) ? RemoveAccount() : EndAllSignIns()
        case 4...6:
            let id = signIn("s\(random.below(idsCount))")
            return BeginSignIn(id, secret("r1"), judgedBy: nil)
        case 7: return end(of: nil, idsCount, &random)
        case 8: return end(of: signIns.isEmpty ? nil : random.pick(signIns), idsCount, &random)
        default:
            guard !signIns.isEmpty else { return EndAllSignIns() }
            let chosen = random.pick(signIns)
            let next = Credentials.Renewal(
                secret: secret("r\(random.below(99))"), replaced: chosen.secret,
                request: random.chance(50) ? secret("q\(random.below(9))") : nil)
            return RenewSignIn(
                chosen.id, next, issued: chosen.renewed?.time ?? .zero,
                began: chosen.began.time)
        }
    }

    /// Ends a sign-in, or one that this replica may not know and may hear of later.
    private static func end(
        of signIn: Credentials.SignIn?, _ idsCount: Int, _ random: inout SplitMix64
    ) -> any CredentialsAction {
        let milliseconds = 1_000_000_000 + UInt64(random.below(10)) * 1_800_000
        return EndSignIn(
            signIn?.id ?? self.signIn("s\(random.below(idsCount))"),
            began: signIn?.began.time ?? HybridTimestamp(milliseconds: milliseconds))
    }

    private static func laws(idsCount: Int) -> Laws<Document> {
        DocumentTests.laws(of: key) { document, writer, random in
            let user = random.pick(People.all)
            let account = document?.credentials?.account(of: user)
            var author = Author(0)
            author.writer = writer
            defer { writer = author.writer }
            var changed = author.judged(
                Mutation(action(on: account, idsCount, &random), at: address, of: user), document)
            // Some accounts have so many sign-ins, or ends, that some are dropped.
            guard random.chance(5), changed?.credentials?.account(of: user)?.isPresent ?? false
            else {
                return changed
            }
            let isEnding = random.chance(50)
            let count = isEnding ? Credentials.SignInEnd.countMax : Credentials.SignIn.countMax
            for number in 0..<count {
                let id = signIn("f\(number)x\(random.next())")
                let action: any CredentialsAction =
                    isEnding
                    ? end(of: nil, idsCount, &random) : BeginSignIn(id, secret("r"), judgedBy: nil)
                changed = author.judged(Mutation(action, at: address, of: user), changed)
            }
            return changed
        }
    }

    private static let laws = laws(idsCount: 200)

    @Test func `accounts merge as a join, any order gives the same bytes`() throws {
        try Self.laws.check(seeds: 0..<1_000)
    }

    @Test func `accounts merge as a join where ends with one id and different times meet`() throws {
        try Self.laws(idsCount: 2).check(seeds: 0..<1_000)
    }

    @Test func `damaged bytes never trap, and what is read is canonical`() throws {
        let good = try Self.laws.states(seeds: 0..<20).map(\.encoded)
        var random = SplitMix64(seed: 5)
        var accepted = 0
        for round in 0..<20_000 {
            var bytes = good[round % good.count]
            bytes[random.below(bytes.count)] = UInt8(random.below(256))
            guard let read = try? Document(Self.key, decoding: bytes) else { continue }
            try #require(read.encoded == bytes)
            accepted += 1
        }
        #expect(accepted > 100)
    }

    @Test func `the bytes on disk are those of the first version`() throws {
        #expect(try Self.laws.golden("credentials") == nil)
    }

    // MARK: Rules

    private static let signUp = SignUp(
        email: FieldText("Al@example.org"), password: FieldText("hash"))

    private func with(
        _ author: inout Author, _ user: UserID = People.alice, _ actions: any CredentialsAction...,
        to target: Document? = nil
    ) -> Document? {
        var document = target
        for action in actions {
            document = author.judged(Mutation(action, at: Self.address, of: user), document)
        }
        return document
    }

    private func refusal(
        of action: any CredentialsAction, _ user: UserID = People.alice, on document: Document?
    ) -> Refusal? {
        let author = Author(9)
        do {
            _ = try author.isChange(Mutation(action, at: Self.address, of: user), document)
            return nil
        } catch {
            return error as? Refusal
        }
    }

    @Test func `an address that is signed up is not signed up by others`() {
        var author = Author(1)
        let document = with(&author, People.alice, Self.signUp)
        #expect(refusal(of: Self.signUp, People.bob, on: document) == .emailInUse)
        #expect(refusal(of: Self.signUp, on: document) == nil)
        let removed = with(&author, People.alice, RemoveAccount(), to: document)
        #expect(refusal(of: Self.signUp, People.bob, on: removed) == nil)
        #expect(removed?.credentials?.views(at: Self.address).isEmpty == true)
    }

    @Test func `of two accounts on two sides the address finds the earlier, and both may sign in`()
        throws
    {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let mine = with(&one, People.bob, Self.signUp)
        let theirs = with(
            &other, People.alice,
            SignUp(email: FieldText("al@example.org"), password: FieldText("other")))
        let both = try #require(mine).merged(with: try #require(theirs))
        #expect(both == theirs?.merged(with: try #require(mine)))
        #expect(
            both.credentials?.views(at: Self.address).map(\.user) == [People.bob, People.alice])
        #expect(both.credentials?.views(at: Self.address).map(\.password) == ["hash", "other"])
    }

    @Test func `a refresh token is used once, and its request may be repeated`() {
        var author = Author(1)
        let first = BeginSignIn(Self.signIn("s1"), Self.secret("r1"), judgedBy: nil)
        let renew = RenewSignIn(
            Self.signIn("s1"), Self.renewal, issued: .zero, began: .zero)
        let begun = with(&author, People.alice, Self.signUp, first)
        let renewed = with(&author, People.alice, renew, to: begun)
        #expect(renewed != begun)
        #expect(refusal(of: renew, on: renewed) == nil)
        #expect(with(&author, People.alice, renew, to: renewed) == renewed)
        let again = Credentials.Renewal(
            secret: Self.secret("r3"), replaced: Self.secret("r1"), request: nil)
        let name = Self.signIn("s1")
        #expect(
            refusal(of: RenewSignIn(name, again, issued: .zero, began: .zero), on: renewed)
                == .refreshTokenUsed)
        // A replica that lacks the last renewal cannot tell.
        let later = HybridTimestamp(milliseconds: 9_000_000)
        #expect(
            refusal(of: RenewSignIn(name, again, issued: later, began: .zero), on: begun) == nil)
        let unknown = Credentials.Renewal(
            secret: Self.secret("r4"), replaced: Self.secret("r3"), request: nil)
        #expect(
            refusal(of: RenewSignIn(name, unknown, issued: later, began: .zero), on: renewed)
                == .signInBehind)
    }

    @Test func `a sign-in that has ended is not renewed, nor saved by another renewal`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let renew = RenewSignIn(
            Self.signIn("s1"), Self.renewal, issued: .zero, began: .zero)
        let begun = with(
            &one, People.alice, Self.signUp,
            BeginSignIn(Self.signIn("s1"), Self.secret("r1"), judgedBy: nil))
        let ended = with(&one, People.alice, EndSignIn(Self.signIn("s1"), began: nil), to: begun)
        let renewed = with(&other, People.alice, renew, to: begun)
        #expect(refusal(of: renew, on: ended) == .signInEnded)
        let both = try #require(renewed).merged(with: try #require(ended))
        #expect(both.credentials?.views(at: Self.address).first?.signInsCount == 0)
        #expect(refusal(of: renew, on: both) == .signInEnded)
    }

    @Test func `a sign-in that has not arrived is told apart from one that was dropped`() {
        var author = Author(1)
        func renew(began milliseconds: UInt64) -> any CredentialsAction {
            let began = HybridTimestamp(milliseconds: milliseconds)
            return RenewSignIn(Self.signIn("s9"), Self.renewal, issued: began, began: began)
        }
        let future: UInt64 = 9_000_000_000_000
        #expect(refusal(of: renew(began: 5), on: nil) == .signInBehind)
        let signedUp = with(&author, People.alice, Self.signUp)
        #expect(refusal(of: renew(began: 5), on: signedUp) == .signInBehind)
        let ended = with(&author, People.alice, EndAllSignIns(), to: signedUp)
        #expect(refusal(of: renew(began: 5), on: ended) == .signInEnded)
        #expect(refusal(of: renew(began: future), on: ended) == .signInBehind)
        var full = signedUp
        for number in 0..<Credentials.SignIn.countMax {
            let begin = BeginSignIn(
                Self.signIn("t\(number)"), Self.secret("r"), judgedBy: nil)
            full = with(&author, People.alice, begin, to: full)
        }
        #expect(refusal(of: renew(began: future), on: full) == .signInBehind)
        let removed = with(&author, People.alice, RemoveAccount(), to: full)
        #expect(refusal(of: renew(began: 5), on: removed) == .accountNotFound)
        #expect(refusal(of: renew(began: future), on: removed) == .signInBehind)
    }

    @Test(
        arguments: [
            EndAllSignIns(), SetPassword(FieldText("new")), SetAccountDisabled(true),
        ] as [any CredentialsAction])
    func `a sign-out everywhere ends what began before, and nothing later`(
        _ action: any CredentialsAction
    ) {
        var author = Author(1)
        let before = BeginSignIn(Self.signIn("s1"), Self.secret("r1"), judgedBy: nil)
        let after = BeginSignIn(Self.signIn("s2"), Self.secret("r1"), judgedBy: nil)
        let document = with(
            &author, People.alice, Self.signUp, before, action, SetAccountDisabled(false), after)
        let account = document?.credentials?.account(of: People.alice)
        #expect(account?.signIn(Self.signIn("s1")) == nil)
        #expect(account?.signIn(Self.signIn("s2"))?.isOpen == true)
    }

    @Test func `a disabled account lets nobody in`() {
        var author = Author(1)
        let begin = BeginSignIn(Self.signIn("s1"), Self.secret("r1"), judgedBy: nil)
        let document = with(&author, People.alice, Self.signUp, SetAccountDisabled(true))
        #expect(refusal(of: begin, on: document) == .accountDisabled)
        #expect(refusal(of: begin, People.bob, on: document) == .accountNotFound)
        let enabled = with(&author, People.alice, SetAccountDisabled(false), to: document)
        #expect(refusal(of: begin, on: enabled) == nil)
    }

    @Test func `a removal wins over what did not know of it, and the next life is empty`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let begun = with(
            &one, People.alice, Self.signUp,
            BeginSignIn(Self.signIn("s1"), Self.secret("r1"), judgedBy: nil))
        let removed = with(&one, People.alice, RemoveAccount(), to: begun)
        let changed = with(&other, People.alice, SetPassword(FieldText("x")), to: begun)
        let both = try #require(changed).merged(with: try #require(removed))
        #expect(both.credentials?.views(at: Self.address).isEmpty == true)
        #expect(both.encoded.contains(subsequence: "hash") == false)
        let again = with(&one, People.alice, Self.signUp, to: both)
        #expect(again?.credentials?.views(at: Self.address).map(\.signInsCount) == [0])
    }

    private static func begin(_ name: String) -> any CredentialsAction {
        BeginSignIn(signIn(name), secret("r1"), judgedBy: nil)
    }

    private func renewal(_ name: String, _ document: Document?) -> any CredentialsAction {
        let account = document?.credentials?.account(of: People.alice)
        let signIn = account?.signIn(Self.signIn(name))
        let next = Credentials.Renewal(
            secret: Self.secret("r2"), replaced: signIn?.secret ?? Self.secret("r1"), request: nil)
        return RenewSignIn(
            Self.signIn(name), next, issued: .zero, began: signIn?.began.time ?? .zero)
    }

    @Test func `one sign-in too many ends the one that was not used for longest, and says so`() {
        var author = Author(1)
        var document = with(&author, People.alice, Self.signUp)
        for number in 0..<Credentials.SignIn.countMax {
            document = with(&author, People.alice, Self.begin("s\(number)"), to: document)
        }
        document = with(&author, People.alice, renewal("s0", document), to: document)
        let late = renewal("s1", document)
        document = with(&author, People.alice, Self.begin("last"), to: document)
        let account = document?.credentials?.account(of: People.alice)
        #expect(account?.signIns.count == Credentials.SignIn.countMax)
        #expect(account?.signIn(Self.signIn("s0"))?.isOpen == true)
        #expect(account?.signIn(Self.signIn("s1")) == nil)
        #expect(refusal(of: late, on: document) == .signInDisplaced)
    }

    @Test func `sign-ins that have ended take no place of others`() {
        var author = Author(1)
        var document = with(&author, People.alice, Self.signUp, Self.begin("phone"))
        for number in 0..<(2 * Credentials.SignInEnd.countMax) {
            let id = "browser\(number)"
            let end = EndSignIn(Self.signIn(id), began: nil)
            document = with(&author, People.alice, Self.begin(id), end, to: document)
        }
        let account = document?.credentials?.account(of: People.alice)
        #expect(account?.signIns.map(\.id) == [Self.signIn("phone")])
        #expect(account?.ends.count == Credentials.SignInEnd.countMax)
        let first = RenewSignIn(
            Self.signIn("browser0"), Self.renewal, issued: .zero,
            began: account?.signIns.first?.began.time ?? .zero)
        #expect(refusal(of: first, on: document) == .signInEnded)
    }

    @Test(arguments: [false, true])
    func `a sign-in that is ended where it is not known does not go on`(
        _ isAccountKnown: Bool
    ) throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let signedUp = with(&one, People.alice, Self.signUp)
        let begun = with(&one, People.alice, Self.begin("s1"), to: signedUp)
        let began = begun?.credentials?.account(of: People.alice)?.signIns.first?.began.time
        let end = EndSignIn(Self.signIn("s1"), began: began)
        var ended = with(&other, People.alice, end, to: isAccountKnown ? signedUp : nil)
        // Many other sign-outs do not bring it back.
        for number in 0..<(2 * Credentials.SignInEnd.countMax) {
            let id = Self.signIn("t\(number)")
            ended = with(
                &other, People.alice,
                EndSignIn(id, began: HybridTimestamp(milliseconds: 9_500_000 + UInt64(number))),
                to: ended)
        }
        let renewed = with(&one, People.alice, renewal("s1", begun), to: begun)
        let both = try #require(renewed).merged(with: try #require(ended))
        #expect(both == ended?.merged(with: try #require(renewed)))
        #expect(both.credentials?.views(at: Self.address).map(\.signInsCount) == [0])
        #expect(refusal(of: renewal("s1", renewed), on: both) == .signInEnded)
    }

    @Test func `an end that knows nothing of a removal holds in the next life, too`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let first = with(&one, People.alice, Self.signUp)
        let next = with(
            &one, People.alice, RemoveAccount(), Self.signUp, Self.begin("s1"), to: first)
        let began = next?.credentials?.account(of: People.alice)?.signIns.first?.began.time
        let ended = with(
            &other, People.alice, EndSignIn(Self.signIn("s1"), began: began), to: first)
        let both = try #require(next).merged(with: try #require(ended))
        #expect(both == ended?.merged(with: try #require(next)))
        #expect(both.credentials?.views(at: Self.address).map(\.signInsCount) == [0])
    }

    @Test func `a new password ends what was judged by an earlier one on the other side`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let signedUp = with(&one, People.alice, Self.signUp)
        let changed = with(&one, People.alice, SetPassword(FieldText("new")), to: signedUp)
        // It begins after the change, by the clock of its side.
        let begun = with(&other, People.alice, Self.begin("s1"), to: signedUp)
        let both = try #require(changed).merged(with: try #require(begun))
        #expect(both == begun?.merged(with: try #require(changed)))
        #expect(both.credentials?.views(at: Self.address).map(\.signInsCount) == [0])
        #expect(refusal(of: renewal("s1", begun), on: both) == .signInSuperseded)
        let old = BeginSignIn(
            Self.signIn("s2"), Self.secret("r1"), judgedBy: FieldText("hash"))
        #expect(refusal(of: old, on: both) == .passwordUnsettled)
        #expect(refusal(of: old, on: signedUp) == nil)
    }

    /// An operation that runs twice is judged on two sides by two passwords.
    @Test func `a sign-in that was judged by two passwords ends, whichever arrives first`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let signedUp = with(&one, People.alice, Self.signUp)
        let changed = with(&one, People.alice, SetPassword(FieldText("new")), to: signedUp)
        let stamp = other.writer.nextStamp()
        let begin = Mutation(Self.begin("s1"), at: Self.address, of: People.alice)
        let byOld = begin.applied(
            to: signedUp, by: Authorship(dot: other.writer.nextDot(), stamp: stamp, unsettled: []))
        let byNew = begin.applied(
            to: changed, by: Authorship(dot: one.writer.nextDot(), stamp: stamp, unsettled: []))
        let both = byOld.merged(with: byNew)
        #expect(both == byNew.merged(with: byOld))
        #expect(both.credentials?.views(at: Self.address).map(\.signInsCount) == [0])
        #expect(refusal(of: renewal("s1", byOld), on: both) == .signInSuperseded)
    }

    @Test func `two sign-ins with one name end together, and the document can be read`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let signedUp = with(&one, People.alice, Self.signUp)
        let first = with(&one, People.alice, Self.begin("s1"), to: signedUp)
        let second = with(&other, People.alice, Self.begin("s1"), to: signedUp)
        var both = try #require(first).merged(with: try #require(second))
        for number in 0..<Credentials.SignIn.countMax {
            both = try #require(with(&other, People.alice, Self.begin("n\(number)"), to: both))
        }
        #expect(try Document(Self.key, decoding: both.encoded) == both)
        #expect(refusal(of: renewal("s1", first), on: both) == .signInDisplaced)
    }

    @Test func `a removal ends what began on the other side after it, and says so`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let signedUp = with(&one, People.alice, Self.signUp)
        let removed = with(&one, People.alice, RemoveAccount(), to: signedUp)
        let begun = with(&other, People.alice, Self.begin("s1"), to: signedUp)
        let both = try #require(removed).merged(with: try #require(begun))
        #expect(both == begun?.merged(with: try #require(removed)))
        #expect(refusal(of: renewal("s1", begun), on: both) == .signInSuperseded)
    }

    @Test func `an account that is enabled again has none of its earlier sign-ins`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let signedUp = with(&one, People.alice, Self.signUp)
        let disabled = with(&one, People.alice, SetAccountDisabled(true), to: signedUp)
        let begun = with(&other, People.alice, Self.begin("s1"), to: signedUp)
        let both = try #require(disabled).merged(with: try #require(begun))
        #expect(refusal(of: renewal("s1", begun), on: both) == .accountDisabled)
        let enabled = with(&other, People.alice, SetAccountDisabled(false), to: both)
        #expect(enabled?.credentials?.views(at: Self.address).map(\.signInsCount) == [0])
    }

    @Test func `what earlier versions stored of sign-ins is read, and written as it was`() throws {
        var author = Author(1)
        let document = try #require(with(&author, People.alice, Self.signUp, Self.begin("s1")))
        var envelope = try Envelope(document.encoded)
        let account = try #require(document.credentials?.account(of: People.alice))
        let bytes = try account.bytesOfEarlierVersions()
        envelope.fields.set(1) {
            $0.write(count: 1)
            $0.write(raw: bytes)
        }
        let read = try Document(Self.key, decoding: envelope.bytes)
        #expect(read.encoded == envelope.bytes)
        #expect(read.merged(with: read) == read)
        let signIn = read.credentials?.account(of: People.alice)?.signIns.first
        #expect(signIn?.isOpen == true && signIn?.password == nil)
        // A new password ends it by its time, as it always did.
        let changed = with(&author, People.alice, SetPassword(FieldText("new")), to: read)
        #expect(changed?.credentials?.views(at: Self.address).map(\.signInsCount) == [0])
    }

    @Test func `an operation that comes twice or late changes nothing`() {
        var author = Author(1)
        let begin = Mutation(
            BeginSignIn(Self.signIn("s1"), Self.secret("r1"), judgedBy: nil), at: Self.address,
            of: People.alice)
        let document = with(&author, People.alice, Self.signUp)
        let stamp = author.writer.nextStamp()
        let ended = with(&author, People.alice, EndAllSignIns(), to: document)
        guard case .stale = begin.standing(of: stamp, in: ended) else {
            Issue.record("a sign-in from before the sign-out is executed")
            return
        }
        let dot = author.writer.nextDot()
        let begun = begin.applied(to: document, by: Authorship(dot: dot, stamp: stamp))
        #expect(begin.standing(of: stamp, in: begun) == .done)
    }
}

extension Credentials.Account {
    /// The bytes of versions in which a sign-in names no password.
    func bytesOfEarlierVersions() throws -> [UInt8] {
        var reader = ByteReader(encoded)
        var writer = ByteWriter()
        writer.write(try reader.readName() as UserID)
        var fields = try Fields(from: &reader)
        _ = fields.removeField(8)
        fields.set(7, toList: signIns)
        fields.encode(into: &writer)
        return writer.bytes
    }
}

extension [UInt8] {
    func contains(subsequence text: String) -> Bool {
        let part = Array(text.utf8)
        return indices.contains { self[$0...].starts(with: part) }
    }
}
