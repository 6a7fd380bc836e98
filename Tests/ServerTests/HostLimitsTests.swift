import Testing

@testable import Server

@Suite struct HostLimitsTests {
    @Test func `where there are descriptors enough, ten thousand clients find room`() {
        let limits = HostLimits(descriptors: 20_000)
        #expect(limits.clients == HostLimits.clientsMax)
        #expect(limits.inboundPeers == HostLimits.inboundPeersMax)
        #expect(limits.lingeringCloses == HostLimits.lingeringClosesMax)
    }

    @Test(arguments: [64, 96, 256, 1_024, 4_096, 10_000, 1_048_576])
    func `everything together needs no more descriptors than there are`(descriptors: Int) {
        let limits = HostLimits(descriptors: descriptors)
        let most =
            limits.clients + 2 * limits.inboundPeers + limits.lingeringCloses
            + HostLimits.descriptorsReserved
        #expect(most <= descriptors)
        #expect((1..<limits.clients).contains(limits.appClients))
        #expect(limits.clients > 0 && limits.inboundPeers > 0 && limits.lingeringCloses > 0)
    }
}
