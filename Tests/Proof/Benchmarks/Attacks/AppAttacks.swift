import LineClient

/// The attacks on the port for apps.
extension AttackRun {
    /// The user who attacks.
    private static let token = AppIdentity.token(of: "bob")
    /// A user who keeps to the rules.
    private static let otherToken = AppIdentity.token(of: "alice")

    func attackApps() async throws(BenchError) {
        try await attempt("http: random bytes") { () throws(BenchError) in
            try await self.sendRandomRequests()
        }
        try await attempt("http: heads without an end") { () throws(BenchError) in
            try await self.holdHeads()
        }
        try await attempt("http: bodies of 100 MB") { () throws(BenchError) in
            try await self.sendHugeBodies()
        }
        try await attempt("http: bodies without an end") { () throws(BenchError) in
            try await self.holdBodies()
        }
        try await attempt("http: a byte at a time") { () throws(BenchError) in
            try await self.dripRequest()
        }
        try await attempt("http: requests, never read") { () throws(BenchError) in
            try await self.floodDeafApps(self.request("chats"), opening: nil)
        }
        try await attempt("http: long histories, never read") { () throws(BenchError) in
            try await self.askAppsForHistories()
        }
        try await attempt("socket: messages without an end") { () throws(BenchError) in
            try await self.holdMessages()
        }
        try await attempt("socket: requests, never read") { () throws(BenchError) in
            let frame = self.frame(#"{"id":1,"path":"/v1/chats/long"}"#)
            return try await self.floodDeafApps(frame, opening: self.upgrade)
        }
        try await attempt("socket: pings, never read") { () throws(BenchError) in
            try await self.floodDeafApps([0x89, 0x80, 0, 0, 0, 0], opening: self.upgrade)
        }
        try await attempt("socket: binary messages, never read") { () throws(BenchError) in
            try await self.floodDeafApps([0x82, 0x80, 0, 0, 0, 0], opening: self.upgrade)
        }
        try await attempt("socket: parts of a message") { () throws(BenchError) in
            try await self.floodDeafApps(
                [0x00, 0x80, 0, 0, 0, 0], opening: self.upgrade + [0x01, 0x80, 0, 0, 0, 0])
        }
        try await attempt("socket: random frames") { () throws(BenchError) in
            try await self.sendRandomFrames()
        }
        try await attempt("socket: idle") { () throws(BenchError) in
            try await self.stayIdleOnSockets()
        }
    }

    // MARK: Requests

    func request(
        _ path: String, _ more: String = "", method: String = "GET", by token: String = token
    ) -> [UInt8] {
        Array(
            ("\(method) /v1/\(path) HTTP/1.1\r\nHost: a\r\n"
                + "Authorization: Bearer \(token)\r\n\(more)\r\n").utf8)
    }

    private var upgrade: [UInt8] {
        request(
            "socket",
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n")
    }

    /// Returns a frame whose mask leaves the text as it is.
    private func frame(_ text: String) -> [UInt8] {
        let count = UInt8(text.utf8.count)
        precondition(count < 126, "the length has one byte")
        return [0x81, 0x80 | count, 0, 0, 0, 0] + Array(text.utf8)
    }

    private func openSockets(_ count: Int) async throws(BenchError) -> [Intruder] {
        let intruders = try await open(count, saying: upgrade)
        guard await holds(within: 10_000, { intruders.allSatisfy { $0.readBytes > 0 } }) else {
            throw BenchError("not all of \(count) WebSockets were opened")
        }
        return intruders
    }

    /// Opens connections, each of which sends bytes at once: one that is silent loses its place.
    func open(
        _ count: Int, saying bytes: [UInt8]
    ) async throws(BenchError) -> [Intruder] {
        var intruders: [Intruder] = []
        while intruders.count < count {
            let some = try await open(min(100, count - intruders.count), to: .http)
            for intruder in some { intruder.send(bytes) }
            await Stage.pause(milliseconds: 20)
            intruders += some
        }
        return intruders
    }

    /// Asks for the chats of another user on a new connection, and reports whether they come.
    func isServed() async throws(BenchError) -> Bool {
        let reader = try await openOne(to: .http)
        reader.send(request("chats", by: Self.otherToken))
        let isServed = await holds(within: 5_000) { reader.statusLine == "HTTP/1.1 200 OK" }
        await leave([reader])
        return isServed
    }

    // MARK: HTTP

    private func sendRandomRequests() async throws(BenchError) -> Outcome {
        let intruders = try await open(50, to: .http)
        for intruder in intruders { intruder.send(randomBytes(64 << 10)) }
        let areEnded = await holds(within: 5_000) { intruders.allSatisfy(\.isGone) }
        let answers = Set(intruders.map { $0.statusLine.prefix(12) })
        let ended = intruders.count(where: \.isGone)
        await leave(intruders)
        let isServed = try await isServed()
        return Outcome(
            answers.sorted().joined(separator: " / ")
                + "; \(ended) of 50 ended; others are \(isServed ? "" : "not ")served",
            areEnded && isServed && answers.allSatisfy { $0.hasPrefix("HTTP/1.1 4") },
            connections: 50)
    }

    private func holdHeads() async throws(BenchError) -> Outcome {
        let count = 2_000
        let intruders = try await open(count, to: .http)
        let head = Array("GET /v1/chats HTTP/1.1\r\nHost: a\r\nX: ".utf8)
        for intruder in intruders {
            intruder.send(head + [UInt8](repeating: UInt8(ascii: "x"), count: 15_000))
        }
        await Stage.pause(milliseconds: 1_000)
        let isServed = try await isServed()
        // A place is for who has not signed in, and there are 256.
        let gone = intruders.count(where: \.isGone)
        await leave(intruders)
        return Outcome(
            "\(gone) of \(count) ended", isServed && gone >= count - 256, connections: count)
    }

    private func sendHugeBodies() async throws(BenchError) -> Outcome {
        let path = "conversations/long/messages"
        let lengths = ["Content-Length: 100000000\r\n", "Transfer-Encoding: chunked\r\n"]
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 0x10000)
        var answers: [String] = []
        for length in lengths {
            let intruder = try await openOne(to: .http)
            intruder.send(request(path, length, method: "POST"))
            let isChunked = length.hasPrefix("T")
            intruder.flood(
                isChunked ? Array("10000\r\n".utf8) + piece + Array("\r\n".utf8) : piece,
                atMost: 100_000_000)
            _ = await holds(within: 10_000) { intruder.isGone }
            answers.append(intruder.statusLine)
            await leave([intruder])
        }
        return Outcome(
            answers.joined(separator: " / "),
            answers == ["HTTP/1.1 413 Content Too Large", "HTTP/1.1 413 Content Too Large"],
            connections: 2)
    }

    private func holdBodies() async throws(BenchError) -> Outcome {
        let count = 1_000
        let head = request(
            "conversations/long/messages", "Content-Length: 131072\r\n", method: "POST")
        let body = [UInt8](repeating: UInt8(ascii: " "), count: 131_000)
        let intruders = try await open(count, saying: head + body)
        await Stage.pause(milliseconds: 3_000)
        // Together these exceed the memory budget, so the node refuses some.
        let told = intruders.count { $0.statusLine.hasPrefix("HTTP/1.1 503 ") }
        let isServed = try await isServed()
        await leave(intruders)
        return Outcome("503 on \(told) of \(count)", told > 0 && isServed, connections: count)
    }

    private func dripRequest() async throws(BenchError) -> Outcome {
        let intruders = try await open(50, to: .http)
        for byte in request("chats/nowhere") {
            for intruder in intruders { intruder.send([byte]) }
            await Stage.pause(milliseconds: 5)
        }
        _ = await holds(within: 2_000) { intruders.allSatisfy { !$0.lines.isEmpty } }
        let answers = Set(intruders.map(\.statusLine))
        await leave(intruders)
        return Outcome(
            answers.sorted().joined(separator: " / "),
            answers == ["HTTP/1.1 404 Not Found"], connections: 50)
    }

    private func floodDeafApps(
        _ request: [UInt8], opening: [UInt8]?
    ) async throws(BenchError) -> Outcome {
        let intruders = opening == nil ? try await open(200, to: .http) : try await openSockets(200)
        let requests = [UInt8]((0..<(65_536 / request.count)).map { _ in request }.joined())
        for intruder in intruders {
            intruder.setDeaf(true)
            intruder.flood(requests, atMost: command.isLong ? .max : 512 << 10)
        }
        await Stage.pause(milliseconds: command.isLong ? 60_000 : 2_500)
        let isServed = try await isServed()
        let taken = intruders.reduce(0) { $0 + $1.sentBytes }
        await leave(intruders)
        return Outcome("\(taken >> 20) MiB written", isServed, connections: 200)
    }

    private func askAppsForHistories() async throws(BenchError) -> Outcome {
        let path = "conversations/long/messages?limit=500"
        let intruders = try await open(100, to: .http)
        for intruder in intruders {
            intruder.setDeaf(true)
            intruder.send(request(path))
        }
        await Stage.pause(milliseconds: command.isLong ? 30_000 : 4_000)
        for intruder in intruders { intruder.setDeaf(false) }
        await Stage.pause(milliseconds: 100)
        let gone = intruders.count(where: \.isGone)
        await leave(intruders)
        let reader = try await openOne(to: .http)
        reader.send(request("conversations/long/messages?limit=400"))
        // A page ends before it has a MiB; each text has 16 KiB.
        let isWhole = await holds(within: 10_000) { reader.readBytes > 60 << 14 }
        await leave([reader])
        return Outcome(
            "\(gone) of 100 ended; who reads gets \(reader.readBytes >> 10) KiB", isWhole,
            connections: 100)
    }

    // MARK: WebSockets

    private func holdMessages() async throws(BenchError) -> Outcome {
        let count = 1_000
        let intruders = try await openSockets(count)
        // The beginning of a message of 131,072 bytes.
        let head: [UInt8] = [0x81, 0xFF, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]
        let text = [UInt8](repeating: UInt8(ascii: " "), count: 131_000)
        for intruder in intruders { intruder.send(head + text) }
        await Stage.pause(milliseconds: 3_000)
        let gone = intruders.count(where: \.isGone)
        let isServed = try await isServed()
        await leave(intruders)
        return Outcome(
            "\(gone) of \(count) ended", gone > 0 && isServed, connections: count)
    }

    private func sendRandomFrames() async throws(BenchError) -> Outcome {
        let intruders = try await openSockets(50)
        for intruder in intruders { intruder.send(randomBytes(64 << 10)) }
        let areEnded = await holds(within: 5_000) { intruders.allSatisfy(\.isGone) }
        await leave(intruders)
        return Outcome("all closed", try await isServed() && areEnded, connections: 50)
    }

    private func stayIdleOnSockets() async throws(BenchError) -> Outcome {
        let count = 2_000
        let intruders = try await openSockets(count)
        await Stage.pause(milliseconds: 1_000)
        let before = intruders.map(\.readBytes)
        for intruder in intruders { intruder.send(frame(#"{"id":1,"path":"/v1/token"}"#)) }
        _ = await holds(within: 5_000) {
            zip(intruders, before).allSatisfy { $0.readBytes > $1 }
        }
        let usable = zip(intruders, before).count { $0.readBytes > $1 }
        await leave(intruders)
        return Outcome("answers on \(usable) of \(count)", usable == count, connections: count)
    }
}
