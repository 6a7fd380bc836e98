import LineProtocol
import Node
import Wire

/// Whether what waits in a node stays within the limits that it was given.
extension ClusterWorld {
    /// After each step of a process, inside it.
    func checkLimits(of process: ClusterProcess) {
        let load = process.node.assumeIsolated { $0.load }
        let limits = plan.peerLimits
        for link in load.links {
            // What is beside the shards may begin below both limits and end one frame above them.
            let queueMax = limits.queueBytesMax + limits.controlBytesMax + link.largestFrame
            expect(link.queuedBytes, atMost: queueMax, "bytes for a peer")
            // And what says that others found no room.
            expect(
                link.answerBytes, atMost: limits.answerBytesMax + limits.controlBytesMax,
                "bytes of answers to a peer")
            if link.queuedBytes >= limits.queueBytesMax { coverage.count("full queue") }
        }
        expect(load.greetings, atMost: NodeLoad.greetingsMax, "connections without a hello")
        expect(load.forwards, atMost: NodeLoad.forwardsMax, "requests for others")
        expect(
            load.forwardBytes, atMost: NodeLoad.forwardBytesMax + LineLimits.lineBytesMax,
            "bytes of requests for others")
        expect(
            load.pendingResponses, atMost: NodeLoad.pendingResponsesMax,
            "replies that wait for disks")
    }

    private func expect(_ amount: Int, atMost limit: Int, _ what: String) {
        if amount > limit { fail(.bounded, "\(amount) \(what), at most \(limit) may wait") }
    }

    /// Nobody asks anything any more: nothing waits, so nothing that waits is forgotten for ever.
    func checkNothingWaits() {
        for machine in machines {
            guard let process = machine.process else { continue }
            let load = machine.executor.run { process.node.assumeIsolated { $0.load } }
            guard !load.isIdle else { continue }
            fail(
                .bounded,
                "n\(machine.index + 1) holds in the quiet what nobody waits for: \(load)")
        }
    }
}
