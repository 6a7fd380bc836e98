import Testing

@testable import Benchmarks

@Suite struct CertaintyTests {
    @Test func `what only a lost disk had acknowledged is not asked for`() {
        var alone = Certainty.possible
        alone.onAcknowledged(by: 2, copies: 1)
        #expect(alone.isCertain)
        alone.onWipe(of: 1)
        #expect(alone.isCertain)
        alone.onWipe(of: 2)
        #expect(alone == .possible)

        var twice = Certainty.never
        twice.onAcknowledged(by: 2, copies: 2)
        twice.onWipe(of: 2)
        #expect(twice.isCertain)

        var twoNodes = Certainty.never
        twoNodes.onAcknowledged(by: 2, copies: 1)
        twoNodes.onAcknowledged(by: 3, copies: 1)
        twoNodes.onWipe(of: 2)
        #expect(twoNodes.isCertain)
    }

    @Test func `what somebody stored elsewhere may have been on any lost disk`() {
        var claim = Certainty.possible
        claim.onAcknowledged(by: nil, copies: 1)
        #expect(claim.isCertain)
        var safe = claim
        claim.onWipe(of: 4)
        #expect(claim == .possible)
        safe.onAcknowledged(by: nil, copies: 2)
        safe.onAcknowledged(by: nil, copies: 1)
        safe.onWipe(of: 4)
        #expect(safe.isCertain)

        var ownDeletion = OwnDeletion()
        ownDeletion.onAttempt(isDeletion: true, at: nil, isRepeat: false)
        ownDeletion.onAcknowledged(isDeletion: true, by: nil)
        #expect(ownDeletion.standing == .hidden)
        var restored = ownDeletion
        restored.onAcknowledged(isDeletion: false, by: nil)
        #expect(restored.standing == .unknown)
        ownDeletion.onWipe(of: 0)
        #expect(ownDeletion.standing == .unknown)
    }

    @Test func `a restore counts where the node had done the only deletion itself`() {
        var ownDeletion = OwnDeletion()
        ownDeletion.onBegin()
        #expect(ownDeletion.isOpen)
        ownDeletion.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        ownDeletion.onAcknowledged(isDeletion: true, by: 1)
        #expect(ownDeletion.standing == .hidden && !ownDeletion.isOpen)
        var elsewhere = ownDeletion
        ownDeletion.onAttempt(isDeletion: false, at: 1, isRepeat: false)
        ownDeletion.onAcknowledged(isDeletion: false, by: 1)
        #expect(ownDeletion.standing == .shown)
        elsewhere.onAttempt(isDeletion: false, at: 2, isRepeat: false)
        elsewhere.onAcknowledged(isDeletion: false, by: 2)
        #expect(elsewhere.standing == .unknown)
    }

    @Test func `a deletion that was repeated may live on elsewhere`() {
        var ownDeletion = OwnDeletion()
        ownDeletion.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        ownDeletion.onAttempt(isDeletion: true, at: 1, isRepeat: true)
        ownDeletion.onAcknowledged(isDeletion: true, by: 1)
        #expect(ownDeletion.standing == .hidden)
        ownDeletion.onAttempt(isDeletion: false, at: 1, isRepeat: false)
        ownDeletion.onAcknowledged(isDeletion: false, by: 1)
        #expect(ownDeletion.standing == .unknown)
    }

    @Test func `a refusal changes nothing, unless another node may have done it`() {
        var ownDeletion = OwnDeletion()
        ownDeletion.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        ownDeletion.onRefused(isDeletion: true, isSure: true)
        #expect(ownDeletion == OwnDeletion())
        ownDeletion.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        ownDeletion.onAttempt(isDeletion: true, at: 2, isRepeat: true)
        ownDeletion.onRefused(isDeletion: true, isSure: false)
        #expect(ownDeletion.standing == .unknown)
    }

    @Test func `a standing that only a lost disk held is unknown`() {
        var ownDeletion = OwnDeletion()
        ownDeletion.onAttempt(isDeletion: true, at: 1, isRepeat: false)
        ownDeletion.onAcknowledged(isDeletion: true, by: 1)
        var other = ownDeletion
        ownDeletion.onWipe(of: 1)
        #expect(ownDeletion.standing == .unknown)
        other.onWipe(of: 2)
        #expect(other.standing == .hidden)
    }
}
