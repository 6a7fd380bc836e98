import TestKit
import Testing
import Wire

@testable import CRDT

struct MaxRegisterTests {
    private typealias Mark = MaxRegister<HybridTimestamp>

    private static let laws = Laws<Mark>(
        merge: { $0.merge($1) }, encode: \.encoded, decode: { try Mark.decode($0) },
        mutate: { mark, writer, _ in
            var mark = mark ?? MaxRegister(.zero)
            mark.raise(to: writer.nextTime())
            return mark
        })

    @Test func `merging is a join, and any order gives the same bytes`() throws {
        try MaxRegisterTests.laws.check(seeds: 0..<1_000)
    }

    @Test func `it never goes back`() {
        var mark = Mark(HybridTimestamp(bits: 5))
        mark.raise(to: HybridTimestamp(bits: 4))
        #expect(mark.value.bits == 5)
        mark.merge(Mark(HybridTimestamp(bits: 6)))
        #expect(mark.value.bits == 6)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try MaxRegisterTests.laws.golden("max-register") == nil)
    }
}
