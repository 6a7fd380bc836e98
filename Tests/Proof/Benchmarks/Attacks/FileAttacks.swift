import NetworkIO

/// The attacks on files: on their uploads and their downloads.
extension AttackRun {
    /// The most bytes of a file.
    private static let fileBytesMax = 25 << 20
    /// The most bytes of one user's uploads under way on one node.
    private static let unsentBytesMax = 100 << 20
    /// The bytes that each of 2,000 uploads may promise, when 400 users begin five of them each.
    private static let admittedBytes = unsentBytesMax / 5
    /// The bytes from which on a node stores what has arrived of a file.
    private static let partBytes = 32 << 10
    /// The bytes of the file of a user who keeps to the rules.
    private static let politeBytes = 1 << 20
    /// The limit of the time in which that user stores it on the attacked node and reads it from
    /// the other, repeated requests included, in milliseconds.
    ///
    /// The file has 32 parts, whose places all uploads of a node share: its user waits for some ten
    /// answers of the node one after the other, and for twice as many where an answer is repeated.
    private static let politeMillisecondsMax = 20 * answerMillisecondsMax
    /// The time after which that user repeats an upload that was refused or broken off.
    private static let pauseMilliseconds: UInt64 = 200
    /// The time after which a node ends what has stood still for 10 seconds, in milliseconds.
    private static let stalledMilliseconds: UInt64 = 12_000
    /// The time in which the kernel has taken what it takes of all downloads that nobody reads, and
    /// the node has ended them, in milliseconds.
    private static let unreadMillisecondsMax: UInt64 = 60_000

    func attackUploads() async throws(BenchError) {
        try await attempt("uploads: broken off") { () throws(BenchError) in
            try await self.breakUploadsOff()
        }
        try await attempt("uploads: slow") { () throws(BenchError) in
            try await self.dripUploads()
        }
        try await attempt("uploads: too long") { () throws(BenchError) in
            try await self.declareTooMuch()
        }
        try await attempt("uploads: chunks without an end") { () throws(BenchError) in
            try await self.uploadWithoutEnd()
        }
        try await attempt("uploads: a length and no bytes") { () throws(BenchError) in
            try await self.uploadNothing()
        }
        try await attempt("uploads: a length and no bytes, of one user") { () throws(BenchError) in
            try await self.promiseTooMuch()
        }
        try await attempt("uploads: many at once") { () throws(BenchError) in
            try await self.uploadMany()
        }
    }

    func attackDownloads() async throws(BenchError) {
        let (unread, ranges) = ("downloads: 20 MiB, never read", "downloads: many ranges")
        guard command.wants(unread) || command.wants(ranges) else { return }
        let bytes = randomBytes(20 << 20)
        guard try await store(bytes, as: "large") == 200 else {
            throw BenchError("a file of 20 MiB was not stored")
        }
        try await attempt(unread) { () throws(BenchError) in
            try await self.downloadUnread(bytes)
        }
        try await attempt(ranges) { () throws(BenchError) in
            try await self.askForRanges()
        }
    }

    // MARK: Requests

    private func upload(_ id: String, _ length: String, by user: String) -> [UInt8] {
        request(
            "conversations/long/blobs/\(id)", "\(length)\r\n", method: "PUT",
            by: AppIdentity.token(of: user))
    }

    private func upload(_ id: String, of count: Int, by user: String) -> [UInt8] {
        upload(id, "Content-Length: \(count)", by: user)
    }

    /// Returns one of the attackers: each of them may have only so much that is not sent.
    private func attacker(_ number: Int) -> String { Self.uploaders[number % Self.uploaders.count] }

    private func status(_ intruder: Intruder) -> Int {
        Int(intruder.statusLine.split(separator: " ").dropFirst().first ?? "") ?? 0
    }

    private func words(_ intruders: [Intruder]) -> String {
        Set(intruders.map(status)).sorted().map(String.init).joined(separator: " / ")
    }

    /// Begins uploads on connections of their own, the attackers in turn; each sends its head and
    /// these bytes at once, since a node closes connections that are silent.
    private func openUploads(
        _ count: Int, as name: String, of size: Int, _ bytes: [UInt8] = []
    ) async throws(BenchError) -> [Intruder] {
        var intruders: [Intruder] = []
        while intruders.count < count {
            let some = try await open(100, to: .http)
            for (number, intruder) in some.enumerated() {
                let number = intruders.count + number
                intruder.send(upload("\(name)\(number)", of: size, by: attacker(number)) + bytes)
            }
            await Stage.pause(milliseconds: 20)
            intruders += some
        }
        return intruders
    }

    /// Uploads a file to the attacked node.
    ///
    /// - Returns: the status of the answer; 0 for none.
    private func store(_ bytes: [UInt8], as id: String) async throws(BenchError) -> Int {
        let writer = try await openOne(to: .http)
        writer.send(upload(id, of: bytes.count, by: "alice") + bytes)
        let milliseconds = UInt64(Self.politeMillisecondsMax)
        _ = await holds(within: milliseconds) { !writer.statusLine.isEmpty || writer.isGone }
        let status = status(writer)
        await leave([writer])
        return status
    }

    /// Downloads a file from the other node, and reports whether its length, beginning and end are
    /// those of these bytes.
    private func isStored(_ bytes: [UInt8], as id: String) async throws(BenchError) -> Bool {
        guard let reader = try await dialAnyhow(1, to: cluster.nodes[1].http).first else {
            return false
        }
        reader.send(request("conversations/long/blobs/\(id)", "Connection: close\r\n"))
        _ = await holds(within: 10_000) { reader.isGone }
        guard status(reader) == 200, let end = reader.head.firstRange(of: Array("\r\n\r\n".utf8))
        else { return false }
        let start = reader.head[end.upperBound...]
        return reader.readBytes - end.upperBound == bytes.count
            && bytes.starts(with: start.prefix(bytes.count))
            && bytes.suffix(reader.tail.count) == reader.tail.suffix(bytes.count)
    }

    /// Stores a file and reads it, as a user does who repeats what was told 503 or broken off, and
    /// reports how that went.
    private func storePolitely() async throws(BenchError) -> (got: String, isServed: Bool) {
        let (bytes, id) = (randomBytes(Self.politeBytes), "polite\(random.next())")
        let began = Stage.loop.nanoseconds
        var milliseconds: Double { Double(Stage.loop.nanoseconds - began) / 1e6 }
        var statuses = [try await store(bytes, as: id)]
        while let last = statuses.last, [0, 503].contains(last),
            milliseconds < Self.politeMillisecondsMax
        {
            await Stage.pause(milliseconds: Self.pauseMilliseconds)
            statuses.append(try await store(bytes, as: id))
        }
        let isStored = try await isStored(bytes, as: id)
        let words = statuses.map { $0 == 0 ? "broken off" : "\($0)" }.joined(separator: ", ")
        return (
            "a user's 1 MiB: \(words)\(isStored ? "" : " and lost"), \(Int(milliseconds)) ms",
            statuses.last == 200 && isStored && milliseconds <= Self.politeMillisecondsMax
        )
    }

    // MARK: Uploads

    private func breakUploadsOff() async throws(BenchError) -> Outcome {
        let (count, rounds) = (100, command.isLong ? 50 : 2)
        let begun = 512 << 10
        var broken = 0
        for round in 0..<rounds {
            let intruders = try await open(count, to: .http)
            for (number, intruder) in intruders.enumerated() {
                let id = "broken\(round)-\(number)"
                intruder.send(upload(id, of: 20 << 20, by: attacker(number)))
                intruder.flood(randomBytes(Self.partBytes), atMost: begun)
            }
            _ = await holds(within: 5_000) { intruders.allSatisfy(\.isPoured) }
            broken += intruders.count { $0.isPoured && !$0.isGone }
            for intruder in intruders { intruder.close() }
        }
        let (got, isServed) = try await storePolitely()
        return Outcome("\(broken) begun; \(got)", isServed && broken > 0, connections: count)
    }

    private func dripUploads() async throws(BenchError) -> Outcome {
        let count = 2_000
        // Less than what is stored, so the node holds it.
        let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: Self.partBytes - 100)
        let intruders = try await openUploads(count, as: "slow", of: Self.admittedBytes, bytes)
        for _ in 0..<(command.isLong ? 90 : 3) {
            for intruder in intruders where !intruder.isGone { intruder.send("a") }
            await Stage.pause(milliseconds: 500)
        }
        let (got, isServed) = try await storePolitely()
        let gone = intruders.count(where: \.isGone)
        await leave(intruders)
        return Outcome("\(gone) of \(count) ended; \(got)", isServed, connections: count)
    }

    private func declareTooMuch() async throws(BenchError) -> Outcome {
        let lengths = [Self.fileBytesMax + 1, 100_000_000_000, 999_999_999_999_999_999]
        var intruders: [Intruder] = []
        for length in lengths {
            for more in ["", "\r\nExpect: 100-continue"] {
                let head = upload(
                    "long\(intruders.count)", "Content-Length: \(length)\(more)",
                    by: attacker(intruders.count))
                intruders += try await open(20, saying: head)
            }
        }
        _ = await holds(within: 5_000) { intruders.allSatisfy(\.isGone) }
        let areRefused = intruders.allSatisfy { status($0) == 413 && $0.isGone }
        let answers = words(intruders)
        await leave(intruders)
        let (got, isServed) = try await storePolitely()
        return Outcome("\(answers); \(got)", areRefused && isServed, connections: intruders.count)
    }

    private func uploadWithoutEnd() async throws(BenchError) -> Outcome {
        let piece = randomBytes(0x10000)
        var intruders: [Intruder] = []
        for number in 0..<4 {
            intruders += try await open(
                1,
                saying: upload(
                    "endless\(number)", "Transfer-Encoding: chunked", by: attacker(number)))
        }
        let chunk = Array("10000\r\n".utf8) + piece + Array("\r\n".utf8)
        for intruder in intruders { intruder.flood(chunk, atMost: 4 * Self.fileBytesMax) }
        let (got, isServed) = try await storePolitely()
        let areEnded = await holds(within: 20_000) { intruders.allSatisfy(\.isGone) }
        let answers = words(intruders)
        await leave(intruders)
        return Outcome(
            "\(answers); \(got)", areEnded && answers == "413" && isServed,
            connections: intruders.count)
    }

    private func uploadNothing() async throws(BenchError) -> Outcome {
        let count = 1_000
        let intruders = try await openUploads(count, as: "nothing", of: Self.admittedBytes)
        let (got, isServed) = try await storePolitely()
        _ = await holds(within: Self.stalledMilliseconds) { intruders.allSatisfy(\.isGone) }
        let told = intruders.count { status($0) == 408 && $0.isGone }
        await leave(intruders)
        return Outcome(
            "408 on \(told) of \(count); \(got)", told == count && isServed, connections: count)
    }

    private func promiseTooMuch() async throws(BenchError) -> Outcome {
        let count = 1_000
        let head = upload("promised", of: Self.fileBytesMax, by: "bob")
        let intruders = try await open(count, saying: head)
        let (got, isServed) = try await storePolitely()
        _ = await holds(within: Self.stalledMilliseconds) { intruders.allSatisfy(\.isGone) }
        let admitted = intruders.count { status($0) == 408 && $0.isGone }
        let refused = intruders.count { status($0) == 429 && $0.isGone }
        await leave(intruders)
        return Outcome(
            "408 on \(admitted) and 429 on \(refused) of \(count); \(got)",
            admitted == Self.unsentBytesMax / Self.fileBytesMax && admitted + refused == count
                && isServed, connections: count)
    }

    private func uploadMany() async throws(BenchError) -> Outcome {
        let count = 100
        let files = (0..<count).map { _ in randomBytes(Self.politeBytes) }
        let intruders = try await open(count, to: .http)
        for (number, intruder) in intruders.enumerated() {
            let head = upload("many\(number)", of: Self.politeBytes, by: attacker(number))
            intruder.send(head + files[number])
        }
        let (got, isServed) = try await storePolitely()
        _ = await holds(within: 20_000) {
            intruders.allSatisfy { !$0.statusLine.isEmpty || $0.isGone }
        }
        let statuses = intruders.map(status)
        let broken = intruders.count { $0.statusLine.isEmpty && $0.isGone }
        await leave(intruders)
        var lost = 0
        for number in 0..<count where statuses[number] == 200 {
            if try await !isStored(files[number], as: "many\(number)") { lost += 1 }
        }
        let stored = statuses.count { $0 == 200 }
        return Outcome(
            "\(words(intruders)): \(stored) stored, \(lost) of them lost, \(broken) broken off; "
                + got,
            lost == 0 && stored > 0 && isServed && statuses.allSatisfy { [200, 503].contains($0) },
            connections: count)
    }

    // MARK: Downloads

    private func downloadUnread(_ bytes: [UInt8]) async throws(BenchError) -> Outcome {
        let count = 100
        let intruders = try await open(count, to: .http)
        let descriptors = try descriptors()
        for intruder in intruders {
            intruder.setDeaf(true)
            intruder.send(request("conversations/long/blobs/large"))
        }
        await Stage.pause(milliseconds: 1_000)
        let (got, isServed) = try await storePolitely()
        let isRead = try await isStored(bytes, as: "large")
        // Who does not read cannot see that a connection has ended, but the node's descriptors show
        // it. The kernel takes some MiB for each before one stands still.
        let deadline = Stage.loop.nanoseconds + Self.unreadMillisecondsMax * 1_000_000
        while try self.descriptors() > descriptors - count, Stage.loop.nanoseconds < deadline {
            await Stage.pause(milliseconds: 100)
        }
        for intruder in intruders { intruder.setDeaf(false) }
        _ = await holds(within: 5_000) { intruders.allSatisfy(\.isGone) }
        let gone = intruders.count { $0.isGone && $0.readBytes < bytes.count }
        await leave(intruders)
        return Outcome(
            "\(gone) of \(count) ended; who reads gets \(isRead ? "all" : "too little"); \(got)",
            gone == count && isRead && isServed, connections: count)
    }

    private func askForRanges() async throws(BenchError) -> Outcome {
        let count = 100
        let path = "conversations/long/blobs/large"
        let many = (0..<1_000).map { "\($0 * 2)-\($0 * 2)" }.joined(separator: ",")
        var ranges = (0..<200).map { "bytes=\($0 * 100_003)-\($0 * 100_003)" }
        ranges += ["bytes=-1", "bytes=0-0,-1", "bytes=99999999-", "bytes=\(many)"]
        let requests = ranges.map { request(path, "Range: \($0)\r\n") }
        let intruders = try await open(count, to: .http)
        for (number, intruder) in intruders.enumerated() {
            // Several ranges in one request are answered with the whole file.
            let isGreedy = number % 10 == 0
            intruder.flood(isGreedy ? requests[203] : Array(requests[..<203].joined()))
        }
        let began = Stage.loop.nanoseconds
        let (got, isServed) = try await storePolitely()
        let seconds = Double(Stage.loop.nanoseconds - began) / 1e9
        if seconds < 2 { await Stage.pause(milliseconds: 2_000) }
        let read = intruders.reduce(0) { $0 + $1.readBytes }
        let answers = words(intruders)
        await leave(intruders)
        return Outcome(
            "\(answers), \(megabytes(read)) MiB; \(got)", answers == "200 / 206" && isServed,
            connections: count)
    }
}
