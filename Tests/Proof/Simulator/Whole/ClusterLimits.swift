import LineProtocol
import Node
import Wire

/// The checks that the queues of a node stay within their limits.
extension ClusterWorld {
    /// Checks a process's queues, within each of its steps.
    func checkLimits(of process: ClusterProcess) {
        let load = process.node.assumeIsolated { $0.load }
        let limits = plan.peerLimits
        for link in load.links {
            // Frames that concern no shard may begin below both limits and end one frame above
            // them.
            let queueMax = limits.queueBytesMax + limits.controlBytesMax + link.largestFrame
            expect(link.queuedBytes, atMost: queueMax, "bytes for a peer")
            // Refusals, for which `controlBytesMax` more is allowed, are queued with the responses.
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

    /// Checks that nothing waits in any node once nobody requests anything: a leak would remain.
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
