import Testing
import Wire

@testable import CRDT
@testable import Chat

struct SigningTableTests {
    private let now: UInt64 = 1_800_000_000_000

    private func revocation(
        _ name: String, through: UInt64 = 5, made: UInt64
    ) -> SigningTable.Revocation {
        SigningTable.Revocation(
            name: UserID(checked: name), through: HybridTimestamp(milliseconds: through),
            made: made)
    }

    @Test func `a revocation is kept while a token that it revokes can be valid, and no longer`() {
        var table = SigningTable()
        #expect(table.insert(revocation("s1", made: now), now: now) != nil)
        #expect(table.insert(revocation("s2", made: now + 1_000), now: now) != nil)
        let end = now + SigningTable.lifetimeMilliseconds
        #expect(table.forgetEnded(now: end) == [])
        #expect(table.forgetEnded(now: end + 1) == [UserID(checked: "s1")])
        #expect(table.revoked.map(\.name) == [UserID(checked: "s2")])
        // A node whose clock is behind still has it, and tells it.
        #expect(table.insert(revocation("s1", made: now), now: end + 1) == nil)
    }

    @Test func `what is known is no news, and a later end is`() {
        var table = SigningTable()
        _ = table.insert(revocation("s1", made: now), now: now)
        #expect(table.insert(revocation("s1", made: now + 5_000), now: now + 5_000) == nil)
        let later = table.insert(revocation("s1", made: now + 60_000), now: now + 60_000)
        #expect(later?.made == now + 60_000)
        let further = table.insert(revocation("s1", through: 9, made: now), now: now + 60_000)
        #expect(further?.through == HybridTimestamp(milliseconds: 9))
        #expect(further?.made == now + 60_000)
    }

    @Test func `a wrong clock keeps no revocation for long`() {
        var table = SigningTable()
        _ = table.insert(revocation("s1", made: .max / 2), now: now)
        #expect(table.forgetEnded(now: now + 2 * SigningTable.lifetimeMilliseconds).count == 1)
    }

    @Test func `what was heard by a clock that was behind is kept once it is corrected`() {
        var table = SigningTable()
        let behind = now - 10 * SigningTable.lifetimeMilliseconds
        _ = table.insert(revocation("s1", made: now), now: behind)
        var corrected = table
        #expect(table.forgetEnded(now: now).count == 1)
        let version = corrected.version
        corrected.renew(now: now)
        #expect(corrected.forgetEnded(now: now) == [] && corrected.version == version)
    }

    @Test func `where there are too many, the one that was made first goes, and no other`() {
        var table = SigningTable()
        for number in 0...SigningTable.revocationsMax {
            _ = table.insert(revocation("s\(number)", made: now + UInt64(number / 8)), now: now)
        }
        #expect(table.isFull && table.revoked.count == SigningTable.revocationsMax)
        #expect(table.revocation(of: UserID(checked: "s0")) == nil)
        #expect(table.revocation(of: UserID(checked: "s1")) != nil)
    }

    @Test func `two nodes that know the same have one version, in whatever order they heard it`() {
        var (one, other) = (SigningTable(), SigningTable())
        let all = (0..<200).map { revocation("s\($0)", made: now) }
        for revocation in all { _ = one.insert(revocation, now: now) }
        for revocation in all.reversed() { _ = other.insert(revocation, now: now + 7) }
        #expect(one.version == other.version)
        _ = one.insert(revocation("one more", made: now), now: now)
        #expect(one.version != other.version)
    }

    @Test func `the parts on disk together are the whole`() throws {
        var (table, read) = (SigningTable(), SigningTable())
        for number in 0..<500 { _ = table.insert(revocation("s\(number)", made: now), now: now) }
        for part in 0..<SigningTable.partsCount {
            for revocation in try [SigningTable.Revocation].decode(table.encodedPart(part)) {
                _ = read.insert(revocation, now: now)
            }
        }
        #expect(read == table)
    }
}
