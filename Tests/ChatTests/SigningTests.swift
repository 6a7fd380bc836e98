import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct SigningTests {
    static let actions: [Signing.Action] = [
        .addKey(SigningKeyID(checked: "k1"), SecretDigest(checked: "secret")),
        .revoke(People.bob, through: HybridTimestamp(milliseconds: 7)),
    ]

    private static func name(_ number: Int) -> UserID { UserID(checked: "u\(number)") }

    /// Nearly as many revocations as are kept, so that few more displace the earliest.
    private static func full(_ author: inout Author) -> Document? {
        var document: Document?
        for number in 0..<(Signing.revocationsMax - 2) {
            let time = HybridTimestamp(milliseconds: UInt64(1_000 + number % 40))
            document = author.judged(Mutation(.revoke(name(number), through: time)), document)
        }
        return document
    }

    private static let laws = DocumentTests.laws(of: .signing) { document, writer, random in
        var author = Author(0)
        author.writer = writer
        defer { writer = author.writer }
        if document == nil, random.chance(80) { return full(&author) }
        let key = "k\(random.below(40))"
        let action: Signing.Action =
            random.chance(50)
            ? .addKey(SigningKeyID(checked: key), SecretDigest(checked: "secret"))
            : .revoke(
                name(random.below(2 * Signing.revocationsMax)),
                through: HybridTimestamp(milliseconds: UInt64(1_000 + random.below(60))))
        return author.judged(Mutation(action), document)
    }

    @Test func `keys and revocations merge as a join, any order gives the same bytes`() throws {
        try Self.laws.check(seeds: 0..<40)
    }

    @Test func `the bytes on disk are those of the first version`() throws {
        var author = Author(1)
        var states: [[UInt8]] = []
        var document: Document?
        for action in Self.actions {
            document = author.judged(Mutation(action), document)
            states.append(document?.encoded ?? [])
        }
        #expect(try GoldenBytes("signing", of: states).difference() == nil)
    }

    @Test func `a revocation without a place any more revokes all tokens up to its time`() {
        var signing = Signing()
        for number in 0..<Signing.revocationsMax {
            signing.revoke(
                Self.name(number), at: HybridTimestamp(milliseconds: UInt64(number + 1)))
        }
        #expect(signing.floor == .zero && signing.revocations.count == Signing.revocationsMax)
        signing.revoke(UserID(checked: "late"), at: HybridTimestamp(milliseconds: 9_999))
        #expect(signing.floor == HybridTimestamp(milliseconds: 1))
        #expect(signing.revocation(of: Self.name(0)) == nil)
        #expect(signing.revocation(of: Self.name(1)) != nil)
        signing.revoke(Self.name(0), at: HybridTimestamp(milliseconds: 1))
        #expect(signing.revocation(of: Self.name(0)) == nil)
    }

    @Test func `a revocation is only ever moved to a later time`() {
        var author = Author(1)
        func revoke(_ milliseconds: UInt64) -> Mutation {
            Mutation(
                .revoke(People.bob, through: HybridTimestamp(milliseconds: milliseconds)))
        }
        let document = author.judged(revoke(5), author.judged(revoke(7), nil))
        #expect(
            document?.signing?.revocation(of: People.bob)?.time == HybridTimestamp(milliseconds: 7))
    }
}
