import NetworkIO

/// The attacks on accounts.
///
/// The nodes stand behind a proxy, which tells the addresses of clients: so the attackers and the
/// users who keep to the rules have different ones.
extension AttackRun {
    private static let attackers = 100
    /// The sign-ins of a user during an attack, and the pause between two of them.
    private static let signIns = 5
    private static let pauseMilliseconds: UInt64 = 200
    /// The limit of the time in which a user signs in while attackers of many addresses use up the
    /// places of the queue, repeated requests included, in milliseconds.
    ///
    /// A place that gets free is given to whoever asks next, so the time is a matter of chance, and
    /// of how fast the machine compares the passwords of those who came before: some 20 seconds.
    private static let crowdedMillisecondsMax = 60_000.0
    /// The time in which attackers have sent more than the node takes of them, in milliseconds.
    private static let refusedMillisecondsMax: UInt64 = 20_000
    /// The addresses of the requests that a flood repeats.
    private static let addresses = 500
    private static let password = "walnut-lantern"
    /// The address of the users who keep to the rules.
    private static let politeSource = "192.0.2.1"

    func attackAccounts() async throws(BenchError) {
        try await attempt("accounts: wrong passwords of one") { () throws(BenchError) in
            try await self.guess(fromManyAddresses: false)
        }
        try await attempt("accounts: wrong passwords of many") { () throws(BenchError) in
            try await self.guess(fromManyAddresses: true)
        }
        try await attempt("accounts: sign-ups of one") { () throws(BenchError) in
            try await self.signUp(fromManyAddresses: false)
        }
        try await attempt("accounts: sign-ups of many") { () throws(BenchError) in
            try await self.signUp(fromManyAddresses: true)
        }
        try await attempt("accounts: sign-ins, broken off") { () throws(BenchError) in
            try await self.breakSignInsOff()
        }
        try await attempt("accounts: made-up refresh tokens") { () throws(BenchError) in
            try await self.makeTokensUp()
        }
        try await attempt("accounts: bodies of 100 MB") { () throws(BenchError) in
            try await self.sendHugeBodies()
        }
        try await attempt("accounts: slow bodies") { () throws(BenchError) in
            try await self.dripBodies()
        }
    }

    // MARK: Requests

    private func post(
        _ path: String, _ body: String, from source: String, _ more: String = ""
    ) -> [UInt8] {
        Array(
            ("POST /v1/\(path) HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \(source)\r\n\(more)"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8)
    }

    private func secrets(_ email: String, _ password: String) -> String {
        #"{"email":"\#(email)","password":"\#(password)"}"#
    }

    /// Returns requests of one attacker or of many, which differ in what `body` makes of a number.
    private func requests(
        _ path: String, fromManyAddresses areMany: Bool, _ body: (Int) -> String
    ) -> [UInt8] {
        Array(
            (0..<Self.addresses).map { number in
                let source = areMany ? "198.51.\(number / 250).\(number % 250)" : "198.51.0.1"
                return post(path, body(number), from: source)
            }.joined())
    }

    /// Sends a request on a connection of its own.
    private func ask(_ request: [UInt8]) async throws(BenchError) -> (status: Int, text: String) {
        let asker = try await openOne(to: .http)
        asker.send(request)
        _ = await holds(within: 10_000) { asker.isGone }
        let text = String(decoding: asker.head, as: UTF8.self)
        asker.close()
        return (Int(asker.statusLine.split(separator: " ").dropFirst().first ?? "") ?? 0, text)
    }

    /// Sends a request of a user who keeps to the rules: one that is told to wait repeats it.
    private func askPolitely(
        _ path: String, _ body: String
    ) async throws(BenchError) -> PoliteAnswer {
        let began = Stage.loop.nanoseconds
        var repeated = 0
        while true {
            let (status, text) = try await ask(
                post(path, body, from: Self.politeSource, "Connection: close\r\n"))
            let milliseconds = Double(Stage.loop.nanoseconds - began) / 1e6
            guard status == 503 || status == 429, milliseconds < Self.crowdedMillisecondsMax else {
                return PoliteAnswer(status, text, milliseconds, repeated: repeated)
            }
            repeated += 1
            await Stage.pause(milliseconds: Self.pauseMilliseconds)
        }
    }

    /// Signs a user up who signs in again and again, and reports how that went.
    private func signInPolitely(
        as name: String, within millisecondsMax: Double
    ) async throws(BenchError) -> (got: String, isServed: Bool) {
        let body = secrets("\(name)@example.org", Self.password)
        var answers = [try await askPolitely("accounts", body)]
        for _ in 0..<Self.signIns {
            await Stage.pause(milliseconds: Self.pauseMilliseconds)
            answers.append(try await askPolitely("sessions", body))
        }
        let slowest = answers.map(\.milliseconds).max() ?? 0
        let served = answers.count { $0.status == 200 }
        let repeated = answers.reduce(0) { $0 + $1.repeated }
        return (
            "\(served) of \(answers.count) sign-ins, the slowest in \(Int(slowest)) ms, "
                + "\(repeated) times told to wait",
            served == answers.count && slowest <= millisecondsMax
        )
    }

    /// The statuses of the answers that attackers got first and last.
    private func statuses(_ intruders: [Intruder]) -> Set<Int> {
        // An answer begins right behind the body of the one before it.
        let mark = "HTTP/1.1 "
        return intruders.reduce(into: []) { statuses, intruder in
            for text in [intruder.head, intruder.tail] {
                let text = String(decoding: text, as: UTF8.self)
                for range in text.ranges(of: mark) {
                    // What is kept of an answer may end within its status.
                    let digits = text[range.upperBound...].prefix(3)
                    if digits.utf8.count == 3, let status = Int(digits) { statuses.insert(status) }
                }
            }
        }
    }

    private func words(_ statuses: Set<Int>) -> String {
        statuses.sorted().map(String.init).joined(separator: " / ")
    }

    /// Has many connections repeat requests, while a user signs in.
    private func flood(
        _ requests: [UInt8], user: String, expecting expected: Set<Int>,
        within millisecondsMax: Double
    ) async throws(BenchError) -> Outcome {
        let intruders = try await open(Self.attackers, to: .http)
        for intruder in intruders { intruder.flood(requests) }
        await Stage.pause(milliseconds: command.isLong ? 60_000 : 500)
        let (got, isServed) = try await signInPolitely(as: user, within: millisecondsMax)
        // A slow machine takes its time until so many were sent that the node refuses more.
        _ = await holds(within: Self.refusedMillisecondsMax) { statuses(intruders).contains(429) }
        let answers = statuses(intruders)
        await leave(intruders)
        return Outcome(
            "\(words(answers)); \(got)",
            isServed && answers.isSubset(of: expected) && answers.contains(429),
            connections: Self.attackers)
    }

    // MARK: Passwords

    private func guess(fromManyAddresses areMany: Bool) async throws(BenchError) -> Outcome {
        let name = areMany ? "many-guessed" : "guessed"
        _ = try await askPolitely("accounts", secrets("\(name)@example.org", Self.password))
        let guesses = requests("sessions", fromManyAddresses: areMany) { number in
            // Half of them for nobody, which takes as long.
            secrets("\(number % 2 == 0 ? name : "nobody\(number)")@example.org", "wrong-\(number)")
        }
        return try await flood(
            guesses, user: areMany ? "beside-many" : "beside-one", expecting: [401, 429, 503],
            within: areMany ? Self.crowdedMillisecondsMax : Self.answerMillisecondsMax)
    }

    private func signUp(fromManyAddresses areMany: Bool) async throws(BenchError) -> Outcome {
        let group = areMany ? "crowd" : "lone"
        let signUps = requests("accounts", fromManyAddresses: areMany) { number in
            secrets("\(group)\(number)@example.org", Self.password)
        }
        let outcome = try await flood(
            signUps, user: "beside-\(group)", expecting: [200, 409, 429, 503],
            within: areMany ? Self.crowdedMillisecondsMax : Self.answerMillisecondsMax)
        // Its sign-up was acknowledged.
        let again = try await askPolitely(
            "sessions", secrets("beside-\(group)@example.org", Self.password))
        return Outcome(
            outcome.got + (again.status == 200 ? "" : "; an account is lost"),
            outcome.isAsExpected && again.status == 200, connections: outcome.connections)
    }

    /// Sends sign-ins and closes at once, so that the node works for nobody.
    private func breakSignInsOff() async throws(BenchError) -> Outcome {
        let rounds = command.isLong ? 200 : 10
        var begun = 0
        for round in 0..<rounds {
            let intruders = try await open(Self.attackers, to: .http)
            for (number, intruder) in intruders.enumerated() {
                let body = secrets("nobody\(number)@example.org", "wrong-\(number)")
                intruder.send(post("sessions", body, from: "203.0.\(round % 250).\(number)"))
                begun += 1
            }
            await Stage.pause(milliseconds: 20)
            for intruder in intruders { intruder.close() }
        }
        let (got, isServed) = try await signInPolitely(
            as: "beside-broken", within: Self.crowdedMillisecondsMax)
        return Outcome("\(begun) begun; \(got)", isServed, connections: Self.attackers)
    }

    // MARK: Tokens

    private func makeTokensUp() async throws(BenchError) -> Outcome {
        let secrets = secrets("renewed@example.org", Self.password)
        let signUp = try await askPolitely("accounts", secrets)
        let key = #""refreshToken":""#
        guard let start = signUp.text.firstRange(of: key)?.upperBound else {
            throw BenchError("no refresh token in: \(signUp.text)")
        }
        let token = String(signUp.text[start...].prefix { $0 != "\"" })
        let madeUp = requests("sessions/refresh", fromManyAddresses: false) { number in
            // Half of them are like the real one, but for the end of their signature.
            let text = number % 2 == 0 ? "\(token.dropLast(6))\(100_000 + number)" : "t\(number)"
            return #"{"refreshToken":"\#(text)"}"#
        }
        let outcome = try await flood(
            madeUp, user: "beside-renewed", expecting: [401, 429],
            within: Self.answerMillisecondsMax)
        let renewal = try await askPolitely("sessions/refresh", "{\(key)\(token)\"}")
        return Outcome(
            "\(outcome.got); the real one \(renewal.status)",
            outcome.isAsExpected && renewal.status == 200, connections: outcome.connections)
    }

    // MARK: Bodies

    private func sendHugeBodies() async throws(BenchError) -> Outcome {
        let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 0x10000)
        let chunk = Array("10000\r\n".utf8) + piece + Array("\r\n".utf8)
        var answers: Set<String> = []
        for path in ["accounts", "sessions", "sessions/refresh"] {
            for length in ["Content-Length: 100000000", "Transfer-Encoding: chunked"] {
                let intruder = try await openOne(to: .http)
                intruder.send("POST /v1/\(path) HTTP/1.1\r\nHost: a\r\n\(length)\r\n\r\n")
                intruder.flood(length.hasPrefix("T") ? chunk : piece, atMost: 100_000_000)
                _ = await holds(within: 10_000) { intruder.isGone }
                answers.insert(intruder.statusLine)
                await leave([intruder])
            }
        }
        return Outcome(
            answers.sorted().joined(separator: " / "),
            answers == ["HTTP/1.1 413 Content Too Large"])
    }

    /// Sends bodies a byte at a time, until the node ends them.
    private func dripBodies() async throws(BenchError) -> Outcome {
        let count = 1_000
        let head = "POST /v1/sessions HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"
        let intruders = try await open(count, to: .http)
        for intruder in intruders { intruder.send(head) }
        let (got, isServed) = try await signInPolitely(
            as: "beside-slow", within: Self.answerMillisecondsMax)
        // The limit is 10 seconds for a request, and as many for who does not sign in.
        for _ in 0..<24 where !intruders.allSatisfy(\.isGone) {
            for intruder in intruders where !intruder.isGone { intruder.send(" ") }
            await Stage.pause(milliseconds: 500)
        }
        let gone = intruders.count(where: \.isGone)
        await leave(intruders)
        return Outcome(
            "\(gone) of \(count) ended; \(got)", isServed && gone == count, connections: count)
    }
}

/// The answer to a user who keeps to the rules.
private struct PoliteAnswer {
    let status: Int
    let text: String
    /// The time until it came, in milliseconds.
    let milliseconds: Double
    /// How often the client was told to wait before.
    let repeated: Int

    init(_ status: Int, _ text: String, _ milliseconds: Double, repeated: Int) {
        self.status = status
        self.text = text
        self.milliseconds = milliseconds
        self.repeated = repeated
    }
}
