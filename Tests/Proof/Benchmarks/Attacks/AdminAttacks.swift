import LineClient

/// The attacks on the port for clients.
extension AttackRun {
    func attackAdmin() async throws(BenchError) {
        try await attempt("admin: random bytes") { () throws(BenchError) in
            try await self.sendRandomLines()
        }
        try await attempt("admin: NUL and broken UTF-8") { () throws(BenchError) in
            try await self.sendBrokenText()
        }
        try await attempt("admin: a line of 100 MB") { () throws(BenchError) in
            try await self.sendHugeLine()
        }
        try await attempt("admin: a byte at a time") { () throws(BenchError) in
            try await self.drip()
        }
        try await attempt("admin: lines without an end") { () throws(BenchError) in
            try await self.holdLines()
        }
        try await attempt("admin: short lines, never read") { () throws(BenchError) in
            try await self.floodDeaf("x\n", connections: 500)
        }
        try await attempt("admin: requests, never read") { () throws(BenchError) in
            try await self.floodDeaf("HELP\n", connections: 200)
        }
        try await attempt("admin: long histories, never read") { () throws(BenchError) in
            try await self.askForHistories()
        }
        try await attempt("admin: idle connections") { () throws(BenchError) in
            try await self.stayIdle()
        }
    }

    /// Sends `PING` on a connection after an attack, and reports whether it is answered within 5 s.
    private func answersPing(_ intruder: Intruder) async -> Bool {
        intruder.send("\nPING\n")
        return await holds(within: 5_000) { intruder.lastLine == "OK pong" }
    }

    private func sendRandomLines() async throws(BenchError) -> Outcome {
        let intruders = try await open(50, to: .admin)
        let count = command.isLong ? 4 << 20 : 64 << 10
        for intruder in intruders { intruder.send(randomBytes(count)) }
        var usable = 0
        for intruder in intruders where await answersPing(intruder) { usable += 1 }
        let areErrors = intruders.allSatisfy { intruder in
            intruder.lines.dropLast().allSatisfy { $0.hasPrefix("ERR ") || $0 == "OK pong" }
        }
        await leave(intruders)
        return Outcome(
            "ERR lines on \(usable) of 50", usable == 50 && areErrors, connections: 50)
    }

    private func sendBrokenText() async throws(BenchError) -> Outcome {
        let intruder = try await openOne(to: .admin)
        let broken: [[UInt8]] = [
            Array("SEND c alice a\0b".utf8), Array("SEND c alice ".utf8) + [0xC3, 0x28],
            [0xFF, 0xFE, 0x20, 0x00], Array("SEND c alice ".utf8) + [0xED, 0xA0, 0x80],
            Array("PING ".utf8) + [0xF0, 0x9F], [0x00],
        ]
        for line in broken { intruder.send(line + [UInt8(ascii: "\n")]) }
        let isUsable = await answersPing(intruder)
        let errors = intruder.lines.filter { $0.hasPrefix("ERR 400 ") }.count
        await leave([intruder])
        return Outcome(
            "\(errors) × ERR 400, then OK pong", isUsable && errors == broken.count)
    }

    private func sendHugeLine() async throws(BenchError) -> Outcome {
        let intruder = try await openOne(to: .admin)
        let count = command.isLong ? 1_000_000_000 : 100_000_000
        intruder.flood([UInt8](repeating: UInt8(ascii: "a"), count: 100_000), atMost: count)
        let isPoured = await holds(within: 60_000) { intruder.isPoured }
        let isUsable = await answersPing(intruder)
        let lines = intruder.lines
        await leave([intruder])
        return Outcome(
            lines.first ?? "nothing",
            isPoured && isUsable && lines.count == 2 && lines[0].hasPrefix("ERR 413 "))
    }

    private func drip() async throws(BenchError) -> Outcome {
        let intruders = try await open(50, to: .admin)
        for byte in Array("SEND nowhere nobody hello\n".utf8) {
            for intruder in intruders { intruder.send([byte]) }
            await Stage.pause(milliseconds: command.isLong ? 1_000 : 20)
        }
        _ = await holds(within: 2_000) { intruders.allSatisfy { !$0.lines.isEmpty } }
        let answers = Set(intruders.map(\.lastLine))
        await leave(intruders)
        return Outcome(
            answers.sorted().joined(separator: " / "),
            answers == ["ERR 404 Conversation not found"], connections: 50)
    }

    /// Sends on each connection the beginning of a line, as long as a line may be.
    private func holdLines() async throws(BenchError) -> Outcome {
        let count = command.isLong ? 8_000 : 2_000
        let intruders = try await open(count, to: .admin)
        let line = [UInt8](repeating: UInt8(ascii: "a"), count: 65_536)
        for intruder in intruders { intruder.send(line) }
        await Stage.pause(milliseconds: 2_000)
        // Together these exceed the memory budget, so the node refuses some.
        let told = intruders.count { $0.lastLine.hasPrefix("ERR 503 ") }
        let areAlone = intruders.allSatisfy { !$0.isGone || $0.lastLine.hasPrefix("ERR 503 ") }
        await leave(intruders)
        return Outcome(
            "ERR 503 on \(told) of \(count)", told > 0 && areAlone, connections: count)
    }

    private func floodDeaf(
        _ text: String, connections count: Int
    ) async throws(BenchError) -> Outcome {
        let intruders = try await open(count, to: .admin)
        let lines = Array(String(repeating: text, count: 65_536 / text.utf8.count).utf8)
        for intruder in intruders {
            intruder.setDeaf(true)
            intruder.flood(lines, atMost: command.isLong ? .max : 512 << 10)
        }
        await Stage.pause(milliseconds: command.isLong ? 60_000 : 2_500)
        let taken = intruders.reduce(0) { $0 + $1.sentBytes }
        let gone = intruders.filter(\.isGone).count
        await leave(intruders)
        return Outcome(
            "\(taken >> 20) MiB written, \(gone) of \(count) ended", true, connections: count)
    }

    /// The users of whom each takes a part in an attack on files.
    static let uploaders = (0..<400).map { "mallory\($0)" }

    /// Creates a conversation of a thousand messages with texts of the greatest length.
    func writeLongHistory() async throws(BenchError) {
        let writer = try await cluster.connect(victim)
        defer { writer.close() }
        let uploaders = Self.uploaders.joined(separator: ",")
        _ = try await cluster.ask("CREATE long alice,bob,\(uploaders)", on: writer)
        let text = String(repeating: "x", count: 16_384)
        for start in stride(from: 0, to: 1_000, by: 100) {
            let sends = (start..<start + 100).map { "SEND long alice id=m\($0) \(text)" }
            _ = try await cluster.askAll(sends, on: writer)
        }
    }

    private func askForHistories() async throws(BenchError) -> Outcome {
        let intruders = try await open(200, to: .admin)
        for intruder in intruders {
            intruder.setDeaf(true)
            intruder.send("HISTORY long bob limit=1000\n")
        }
        await Stage.pause(milliseconds: command.isLong ? 30_000 : 4_000)
        // A connection that does not read does not notice its end, either.
        for intruder in intruders { intruder.setDeaf(false) }
        await Stage.pause(milliseconds: 100)
        let gone = intruders.filter(\.isGone).count
        await leave(intruders)
        let reader = try await openOne(to: .admin)
        reader.send("HISTORY long bob limit=100\n")
        let isWhole = await holds(within: 10_000) { reader.lastLine == "OK" }
        await leave([reader])
        return Outcome(
            "\(gone) of 200 ended; who reads gets \(reader.readBytes >> 10) KiB", isWhole,
            connections: 200)
    }

    private func stayIdle() async throws(BenchError) -> Outcome {
        let count = 2_000
        let intruders = try await open(count, to: .admin)
        await Stage.pause(milliseconds: command.isLong ? 150_000 : 1_000)
        var usable = 0
        for intruder in intruders { intruder.send("PING\n") }
        _ = await holds(within: 5_000) { intruders.allSatisfy { $0.lastLine == "OK pong" } }
        usable = intruders.filter { $0.lastLine == "OK pong" }.count
        await leave(intruders)
        return Outcome("OK pong on \(usable) of \(count)", usable == count, connections: count)
    }
}
