import LineClient
import Node
import Wire

/// The attacks on the port for nodes.
extension AttackRun {
    func attackGossip() async throws(BenchError) {
        try await attempt("gossip: random bytes") { () throws(BenchError) in
            try await self.sendRandomFrames()
        }
        try await attempt("gossip: lying lengths") { () throws(BenchError) in
            try await self.lieAboutLengths()
        }
        try await attempt("gossip: frames that never end") { () throws(BenchError) in
            try await self.holdFrames()
        }
        try await attempt("gossip: never a word") { () throws(BenchError) in
            try await self.saySilence()
        }
        try await attempt("gossip: another cluster") { () throws(BenchError) in
            try await self.comeFromElsewhere()
        }
        try await attempt("gossip: connections in quick succession") { () throws(BenchError) in
            try await self.comeAndGo()
        }
        try await attempt("gossip: nonsense in whole frames") { () throws(BenchError) in
            try await self.sendNonsense()
        }
    }

    private func ended(_ intruders: [Intruder], within milliseconds: UInt64) async -> Int {
        _ = await holds(within: milliseconds) { intruders.allSatisfy(\.isGone) }
        return intruders.filter(\.isGone).count
    }

    private func sendRandomFrames() async throws(BenchError) -> Outcome {
        let intruders = try await open(50, to: .gossip)
        for intruder in intruders { intruder.send(randomBytes(64 << 10)) }
        let gone = await ended(intruders, within: 5_000)
        let read = intruders.reduce(0) { $0 + $1.readBytes }
        await leave(intruders)
        return Outcome(
            "\(read) bytes and an end on \(gone) of 50", gone == 50 && read == 0, connections: 50)
    }

    private func lieAboutLengths() async throws(BenchError) -> Outcome {
        let lengths: [UInt32] = [0, 1, 1 << 10, 192 << 10, (192 << 10) + 1, 4 << 20, .max]
        var intruders: [Intruder] = []
        for length in lengths {
            let some = try await open(20, to: .gossip)
            for intruder in some {
                intruder.send(HostileFrames.head(announcing: length) + randomBytes(100))
            }
            intruders += some
        }
        let gone = await ended(intruders, within: 6_000)
        await leave(intruders)
        return Outcome(
            "an end on \(gone) of \(intruders.count)", gone == intruders.count,
            connections: intruders.count)
    }

    /// Sends on each connection all but the last byte of the longest hello.
    private func holdFrames() async throws(BenchError) -> Outcome {
        let intruders = try await open(1_000, to: .gossip)
        let most = HostileFrames.head(announcing: 192 << 10) + randomBytes((192 << 10) - 1)
        for intruder in intruders { intruder.send(most) }
        let gone = await ended(intruders, within: 8_000)
        await leave(intruders)
        return Outcome("an end on \(gone) of 1000", gone == 1_000, connections: 1_000)
    }

    private func saySilence() async throws(BenchError) -> Outcome {
        let intruders = try await open(2_000, to: .gossip)
        let gone = await ended(intruders, within: 6_000)
        await leave(intruders)
        return Outcome("an end on \(gone) of 2000", gone == 2_000, connections: 2_000)
    }

    private func comeFromElsewhere() async throws(BenchError) -> Outcome {
        let intruders = try await open(100, to: .gossip)
        for (number, intruder) in intruders.enumerated() {
            let hello = HostileFrames.hello(
                from: "stranger-\(number)", at: "127.0.0.1:9", process: random.next(),
                cluster: HostileFrames.cluster(random.next()))
            intruder.send(HostileFrames.envelope(hello.encoded))
        }
        let gone = await ended(intruders, within: 5_000)
        let told = intruders.filter { $0.readBytes > 0 && $0.readBytes < 32 }.count
        await leave(intruders)
        let members = try await cluster.ask(victim, "MEMBERS").dataLines.count
        return Outcome(
            "a reason and an end on \(told) of 100", gone == 100 && told == 100 && members == 2,
            connections: 100)
    }

    private func comeAndGo() async throws(BenchError) -> Outcome {
        let rounds = command.isLong ? 300 : 20
        let before = try Files.read(victim.log).count
        for _ in 0..<rounds {
            let intruders = try await open(100, to: .gossip)
            for intruder in intruders { intruder.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }
            _ = await ended(intruders, within: 5_000)
            await leave(intruders)
        }
        let logged = try Files.read(victim.log).count - before
        return Outcome(
            "\(rounds * 100) ends and \(logged) bytes in the log", logged < 16 << 10,
            connections: 100)
    }

    /// Sends frames with right checksums and wrong contents, after a hello as a node without a
    /// cluster, which the node answers with its cluster's settings.
    private func sendNonsense() async throws(BenchError) -> Outcome {
        var (made, told, gone) = (0, 0, 0)
        let rounds = command.isLong ? 2_000 : 200
        let before = try Files.read(victim.log).count
        while made < rounds {
            let intruders = try await open(20, to: .gossip)
            for intruder in intruders {
                made += 1
                let hello = HostileFrames.hello(
                    from: "newcomer-\(made)", at: "127.0.0.1:9", process: random.next(),
                    cluster: nil
                ).encoded
                intruder.send(HostileFrames.envelope(hello))
                var payload = hello
                for _ in 0..<(1 + random.below(8)) {
                    payload[random.below(payload.count)] = UInt8(truncatingIfNeeded: random.next())
                }
                intruder.send(HostileFrames.envelope(payload))
                intruder.send(HostileFrames.envelope(randomBytes(1 + random.below(200))))
            }
            gone += await ended(intruders, within: 5_000)
            told += intruders.filter { $0.readBytes > 0 }.count
            await leave(intruders)
        }
        let logged = try Files.read(victim.log).count - before
        return Outcome(
            "an answer on \(told) of \(made), then an end; \(logged) bytes in the log",
            gone == made && logged < 16 << 10, connections: 20)
    }
}
