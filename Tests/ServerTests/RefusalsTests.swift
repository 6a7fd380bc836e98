import NetworkIO
import Testing

@testable import Server

@Suite struct RefusalsTests {
    @Test func `a peer is logged once for each reason, until it succeeds`() {
        let refusals = Log()
        #expect(refusals.takes("10.0.0.7", .wrongKey, at: 0))
        for second in 0..<1_000 as Range<UInt64> {
            #expect(!refusals.takes("10.0.0.7", .wrongKey, at: second * 1_000))
        }
        #expect(refusals.takes("10.0.0.7", .plainText, at: 0))
        #expect(refusals.takes("10.0.0.8", .wrongKey, at: 0))
        refusals.onSuccess(of: "10.0.0.7")
        #expect(refusals.takes("10.0.0.7", .wrongKey, at: 0))
        #expect(!refusals.takes("10.0.0.8", .wrongKey, at: 0))
    }

    @Test func `a flood of addresses is no flood of lines`() {
        let refusals = Log()
        var logged = 0
        for number in 0..<5_000 where refusals.takes("\(number)", .late, at: 7) {
            logged += 1
        }
        #expect(logged == Refusals.perSecondMax)
        #expect(refusals.takes("again", .late, at: 1_000))
    }

    @Test func `only so many are remembered, and the oldest is forgotten`() {
        let refusals = Log()
        for number in 0...Refusals.rememberedMax {
            let now = UInt64(number) * 1_000
            #expect(refusals.takes("\(number)", .late, at: now))
        }
        #expect(!refusals.takes("1", .late, at: 0))
        #expect(refusals.takes("0", .late, at: 0))
    }

    @Test(arguments: [
        HandshakeError.plainText, .noKey, .wrongKey, .late, .hungUp, .tooMuch, .unreadable,
    ])
    func `every reason says what happened and what to do`(_ why: HandshakeError) {
        #expect(!"\(why)".isEmpty && !why.advice.isEmpty)
        #expect(!why.advice.contains("\n"))
    }
}

/// A reference to refusals, which expectations can change.
private final class Log {
    private var refusals = Refusals()

    func takes(_ peer: String, _ why: HandshakeError, at now: UInt64) -> Bool {
        refusals.onRefusal(of: peer, because: why, now: now)
    }

    func onSuccess(of peer: String) { refusals.onSuccess(of: peer) }
}
