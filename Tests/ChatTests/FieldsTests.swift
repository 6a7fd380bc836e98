import TestKit
import Testing
import Wire

@testable import Chat

struct FieldsTests {
    private static let laws = Laws<Fields>(
        merge: { $0.merge($1) }, encode: \.encoded, decode: { try Fields.decode($0) },
        mutate: { fields, writer, random in
            var fields = fields ?? Fields()
            let bytes = writer.nextStamp().encoded + random.bytes(random.below(4))
            fields.set(UInt64(random.below(6)), toBytes: bytes)
            return fields
        })

    @Test func `merging is a join, and any order gives the same bytes`() throws {
        try FieldsTests.laws.check(seeds: 0..<500)
    }

    @Test func `of two values of a field, the greater in byte order wins`() {
        var one = Fields()
        one.set(1, toBytes: [2])
        one.set(3, toBytes: [9])
        var other = Fields()
        other.set(1, toBytes: [1, 255])
        other.set(2, toBytes: [])
        other.set(3, toBytes: [9, 0])
        var expected = Fields()
        expected.set(3, toBytes: [9, 0])
        expected.set(2, toBytes: [])
        expected.set(1, toBytes: [2])
        let start = one
        one.merge(other)
        other.merge(start)
        #expect(one == expected && other == expected)
    }

    @Test func `a field taken is gone, one not there is nil`() {
        var fields = Fields()
        fields.set(4, toBytes: [7])
        #expect(fields.removeField(5) == nil)
        #expect(fields.removeField(4) == [7])
        #expect(fields == Fields())
    }

    @Test func `fields that do not ascend or are too many are refused`() {
        #expect(throws: WireError.self) { try Fields.decode([2, 2, 0, 1, 0]) }
        #expect(throws: WireError.self) { try Fields.decode([2, 1, 0, 1, 0]) }
        var writer = ByteWriter()
        writer.write(count: Fields.countMax + 1)
        #expect(throws: WireError.tooLong(count: 257, limit: 256)) {
            try Fields.decode(writer.bytes)
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try FieldsTests.laws.golden("fields") == nil)
    }
}
