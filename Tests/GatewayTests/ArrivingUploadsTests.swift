import LineProtocol
import TestKit
import Testing
import Wire

@testable import Gateway

struct ArrivingUploadsTests {
    private static let mebibyte: UInt64 = 1 << 20

    /// Begins uploads of one user on connections of their own.
    private func begin(
        _ sizes: [UInt64?], in uploads: inout ArrivingUploads, from first: UInt64 = 1
    ) throws -> [Bool] {
        let alice = try #require(UserID("alice"))
        return sizes.enumerated().map { number, size in
            uploads.begin(on: first + UInt64(number), by: alice, promised: size)
        }
    }

    @Test func `what heads promise counts before it has arrived`() throws {
        var uploads = ArrivingUploads()
        let sizes: [UInt64?] = [60, 40, 1].map { $0 * Self.mebibyte }
        #expect(try begin(sizes, in: &uploads) == [true, true, false])
        // Others are not concerned.
        let bob = try #require(UserID("bob"))
        let isOthersBegun = uploads.begin(on: 9, by: bob, promised: Self.mebibyte)
        #expect(isOthersBegun)
    }

    @Test func `an upload that does not say its size counts as the largest`() throws {
        var uploads = ArrivingUploads()
        #expect(
            try begin([nil, nil, nil, nil, nil], in: &uploads) == [true, true, true, true, false])
    }

    @Test func `an upload that has ended in any way leaves its room`() throws {
        var uploads = ArrivingUploads()
        let whole = LineLimits.unsentFileBytesMax
        #expect(try begin([whole], in: &uploads) == [true])
        uploads.end(2)
        #expect(try begin([1], in: &uploads, from: 2) == [false])
        uploads.end(1)
        uploads.end(1)
        #expect(try begin([whole, 1], in: &uploads) == [true, false])
        // A connection has one upload; the next takes its place.
        #expect(try begin([whole], in: &uploads) == [true])
    }
}
