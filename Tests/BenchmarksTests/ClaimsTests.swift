import Testing

@testable import Benchmarks

@Suite struct ClaimsTests {
    @Test func `what only a lost disk had acknowledged is not asked for`() {
        var alone = Claim.possible
        alone.onAcknowledged(by: 2, copies: 1)
        #expect(alone.isCertain)
        alone.onWipe(of: 1)
        #expect(alone.isCertain)
        alone.onWipe(of: 2)
        #expect(alone == .possible)

        var twice = Claim.never
        twice.onAcknowledged(by: 2, copies: 2)
        twice.onWipe(of: 2)
        #expect(twice.isCertain)

        var twoNodes = Claim.never
        twoNodes.onAcknowledged(by: 2, copies: 1)
        twoNodes.onAcknowledged(by: 3, copies: 1)
        twoNodes.onWipe(of: 2)
        #expect(twoNodes.isCertain)
    }

    @Test func `what somebody stored elsewhere may have been on any lost disk`() {
        var claim = Claim.possible
        claim.onAcknowledged(by: nil, copies: 1)
        #expect(claim.isCertain)
        var safe = claim
        claim.onWipe(of: 4)
        #expect(claim == .possible)
        safe.onAcknowledged(by: nil, copies: 2)
        safe.onAcknowledged(by: nil, copies: 1)
        safe.onWipe(of: 4)
        #expect(safe.isCertain)

        var seat = SeatClaims()
        seat.onAttempt(isDeletion: true, at: nil, isRepeat: false)
        seat.onAcknowledged(isDeletion: true, by: nil)
        #expect(seat.standing == .hidden)
        var restored = seat
        restored.onAcknowledged(isDeletion: false, by: nil)
        #expect(restored.standing == .unknown)
        seat.onWipe(of: 0)
        #expect(seat.standing == .unknown)
    }

    @Test func `a restore counts where the node had done the only deletion itself`() {
        var seat = SeatClaims()
        seat.onBegin()
        #expect(seat.isOpen)
        seat.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        seat.onAcknowledged(isDeletion: true, by: 1)
        #expect(seat.standing == .hidden && !seat.isOpen)
        var elsewhere = seat
        seat.onAttempt(isDeletion: false, at: 1, isRepeat: false)
        seat.onAcknowledged(isDeletion: false, by: 1)
        #expect(seat.standing == .shown)
        elsewhere.onAttempt(isDeletion: false, at: 2, isRepeat: false)
        elsewhere.onAcknowledged(isDeletion: false, by: 2)
        #expect(elsewhere.standing == .unknown)
    }

    @Test func `a deletion that was repeated may live on elsewhere`() {
        var seat = SeatClaims()
        seat.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        seat.onAttempt(isDeletion: true, at: 1, isRepeat: true)
        seat.onAcknowledged(isDeletion: true, by: 1)
        #expect(seat.standing == .hidden)
        seat.onAttempt(isDeletion: false, at: 1, isRepeat: false)
        seat.onAcknowledged(isDeletion: false, by: 1)
        #expect(seat.standing == .unknown)
    }

    @Test func `a refusal changes nothing, unless another node may have done it`() {
        var seat = SeatClaims()
        seat.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        seat.onRefused(isDeletion: true, isSure: true)
        #expect(seat == SeatClaims())
        seat.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        seat.onAttempt(isDeletion: true, at: 2, isRepeat: true)
        seat.onRefused(isDeletion: true, isSure: false)
        #expect(seat.standing == .unknown)
    }

    @Test func `a standing that only a lost disk held is unknown`() {
        var seat = SeatClaims()
        seat.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        seat.onAcknowledged(isDeletion: true, by: 1)
        var other = seat
        seat.onWipe(of: 1)
        #expect(seat.standing == .unknown)
        other.onWipe(of: 2)
        #expect(other.standing == .hidden)
    }
}
