import Foundation

@testable import GrapevineClient

/// The nodes of a scenario: they answer reads by what they have, hold the user's writes until the
/// scenario answers them, and tell the events that it names.
final class ScriptedNodes: Transport {
    /// A write that is held.
    final class Held {
        let call: Call
        let path: String
        let answer: (Response?) -> Void
        /// Whether the client waits for the answer no more.
        var isGone = false

        init(_ call: Call, _ path: String, _ answer: @escaping (Response?) -> Void) {
            self.call = call
            self.path = path
            self.answer = answer
        }
    }

    /// Milliseconds that a request or an answer is under way.
    private static let delay: Int64 = 5
    /// Milliseconds between two heartbeats of a stream.
    private static let heartbeat: Int64 = 5_000

    private let clock: VirtualClock
    /// What reads are answered with, by the names of `world.json`.
    var world: ScriptedJSON
    var isUp = true
    /// Whether no node has what the tokens of requests stand for.
    var lags = false
    /// Whether streams do not resume: their tokens are refused.
    var refusesTokens = false
    private(set) var writes: [Held] = []
    /// The reads, and the marks and typing that the client has told, since they were last checked.
    var reads: [String] = []
    var told: [String] = []
    /// The identities of writes that have had no answer, by what they ask for.
    private var unanswered: [String: String] = [:]
    private var refusedTokens: Set<String> = []
    /// The answers after which a write is over, or takes another stamp.
    private static let finals: Set<Int> = [200, 400, 403, 404, 405, 408, 409, 413]
    /// What the client did wrong.
    private(set) var violations: [String] = []
    private var tokens = 1
    /// The events that streams have told or missed, with the numbers of their tokens.
    private var events: [(number: Int, event: ScriptedJSON)] = []
    private var stream: (number: Int, events: (StreamEvent) -> Void)?

    init(_ clock: VirtualClock, world: ScriptedJSON) {
        self.clock = clock
        self.world = world
    }

    var token: String { "k\(tokens)" }

    var now: ExactTime { ExactTime(milliseconds: clock.now) }

    /// The writes for whose answers the client waits.
    var held: [Held] {
        writes.removeAll(where: \.isGone)
        return writes
    }

    // MARK: Requests

    func send(_ call: Call, to node: Int, answer: @escaping (Response?) -> Void) {
        var held: Held?
        var isOver = false
        let once = { (response: Response?) in
            guard !isOver else { return }
            isOver = true
            held?.isGone = true
            answer(response)
        }
        clock.after(call.patience) { once(nil) }
        clock.after(Self.delay) { [self] in
            guard isUp else { return }
            let settle = { [self] (response: Response?) in
                clock.after(Self.delay) { [self] in
                    if isUp { once(response) }
                }
            }
            held = take(call, settle)
        }
    }

    private func take(_ call: Call, _ settle: @escaping (Response?) -> Void) -> Held? {
        let path = call.request.path.replacing("&times=exact", with: "")
            .replacing("?times=exact", with: "")
        if path == "/v1/sessions/refresh" {
            settle(
                answer([
                    "user": .text("u-alice"), "accessToken": .text("a2"),
                    "refreshToken": .text("r2"), "expiresIn": .number(86_400),
                ]))
            return nil
        }
        if call.request.method == .get {
            settle(read(path, call.tokens))
            return nil
        }
        let part = String(path.dropFirst("/v1/".count))
        if part.contains("/marks/"), case .text(let message)? = call.request.body["message"] {
            told.append("\(part.split(separator: "/").last ?? "") \(message)")
        } else if part.hasSuffix("/typing") {
            told.append(call.request.body["on"] == .flag(true) ? "typing" : "not typing")
        } else {
            return hold(call, part, settle)
        }
        settle(answer(["at": .text(now.description)]))
        return nil
    }

    private func hold(
        _ call: Call, _ path: String, _ settle: @escaping (Response?) -> Void
    ) -> Held {
        let texts = call.request.body.filter { $0.key != "id" }.map { "\($0)" }.sorted()
        let asked = "\(call.request.method) \(path) \(texts)"
        let id = call.request.body["id"].map { "\($0)" } ?? ""
        let name = "\(call.operation ?? "") \(id)"
        if let known = unanswered[asked], known != name {
            violations.append("\(asked) is repeated as \(name), not \(known)")
        }
        if let token = call.accessToken, refusedTokens.contains(token) {
            violations.append("\(asked) is sent with a token that was refused")
        }
        unanswered[asked] = name
        let held = Held(call, path) { [self] response in
            let status = response?.status ?? 0
            if Self.finals.contains(status) { unanswered[asked] = nil }
            if status == 401, let token = call.accessToken { refusedTokens.insert(token) }
            settle(response)
        }
        writes.append(held)
        return held
    }

    /// Answers the first write that is held.
    func answerFirst(_ response: Response?) {
        guard !held.isEmpty else { return }
        writes.removeFirst().answer(response)
    }

    /// Loses the answer to the first write that is held.
    func loseFirst() {
        guard !held.isEmpty else { return }
        writes.removeFirst()
    }

    func answer(_ members: [String: ScriptedJSON], status: Int = 200) -> Response {
        Response(
            status: status, body: Data(ScriptedJSON.object(members).json.utf8), token: token)
    }

    func refusal(_ code: Int, reason: String, message: String = "") -> Response {
        let error: [String: ScriptedJSON] = [
            "code": .number(Int64(code)), "message": .text(message), "reason": .text(reason),
            "now": .text(now.description),
        ]
        return answer(["error": .object(error)], status: code)
    }

    private func read(_ path: String, _ tokens: [String]) -> Response {
        if lags, !tokens.isEmpty { return refusal(503, reason: "") }
        guard let url = URLComponents(string: path) else { return refusal(400, reason: "") }
        let parts = url.path.split(separator: "/").dropFirst().map(String.init)
        if ["chats", "items", "conversations"].contains(parts.first) {
            reads.append(String(path.dropFirst("/v1/".count)))
        }
        let query = (url.queryItems ?? []).map { ($0.name, $0.value ?? "") }
        let body = body(parts, Dictionary(query) { first, _ in first })
        return body.map { answer($0.members) } ?? refusal(404, reason: "")
    }

    /// Returns the body of the answer to a read; nil if what it asks for is not there.
    private func body(_ path: [String], _ query: [String: String]) -> ScriptedJSON? {
        let id = path.count > 1 ? path[1] : nil
        switch path.first {
        case "items", "profiles":
            return .object([path[0]: world[path[0]] ?? .list([])])
        case "chats":
            let rows = world["chats"]?.elements ?? []
            if let id { return rows.first { $0["id"] == .text(id) } }
            return .object(["chats": .list(rows.filter { $0["hidden"] == nil })])
        case "conversations": break
        default: return .object([:])
        }
        let all = world["messages"]?[id ?? ""]?.elements ?? []
        if path.count > 3 { return all.first { $0["id"] == .text(path[3]) } }
        switch path.last {
        case "marks": return .object(["marks": world["marks"]?[id ?? ""] ?? .list([])])
        case "pins": return .object(["messages": .list(all.filter { $0["pinnedBy"] != nil })])
        default: break
        }
        let before = query["before"].flatMap { id in all.firstIndex { $0["id"] == .text(id) } }
        let page = all.prefix(before ?? all.count).suffix(Int(query["limit"] ?? "") ?? all.count)
        return .object(["messages": .list(Array(page))])
    }

    // MARK: Streams

    func open(
        _ call: Call, at node: Int, stream number: Int, events: @escaping (StreamEvent) -> Void
    ) {
        stream = (number, events)
        let since = URLComponents(string: call.request.path)?.queryItems?
            .first { $0.name == "since" }?.value
        clock.after(Self.delay) { [self] in
            guard isUp, stream?.number == number else { return }
            let isRefused = since != nil && refusesTokens
            events(.answered(status: isRefused ? 400 : 200))
            guard !isRefused else { return close() }
            var first = ScriptedJSON.object([
                "stream": .text("s"), "editWindow": .number(900_000), "now": time,
            ])
            first["token"] = .text(since ?? token)
            tell("watching", first, id: since ?? token)
            let last = since.flatMap { Int($0.dropFirst()) } ?? tokens
            for (missed, event) in self.events where missed > last {
                tell(event["kind"]?.text ?? "", event, id: "k\(missed)")
            }
            tell("level", .object(["kind": .text("level"), "at": time]), id: nil)
            beat(number)
        }
    }

    func close() { stream = nil }

    private var time: ScriptedJSON { .text(now.description) }

    private func beat(_ number: Int) {
        clock.after(Self.heartbeat) { [self] in
            guard stream?.number == number else { return }
            tell("heartbeat", .object(["kind": .text("heartbeat"), "at": time]), id: nil)
            beat(number)
        }
    }

    /// Tells an event to the client.
    func tell(_ event: ScriptedJSON) {
        tokens += 1
        var event = event
        event["token"] = .text(token)
        if event["kind"] != .text("typing") { events.append((tokens, event)) }
        tell(event["kind"]?.text ?? "", event, id: token)
    }

    private func tell(_ name: String, _ event: ScriptedJSON, id: String?) {
        let number = stream?.number
        let told = EventStreamReader.Event(name: name, data: event.json, id: id)
        clock.after(Self.delay) { [self] in
            guard isUp, let stream, stream.number == number else { return }
            stream.events(.events([told]))
        }
    }

    /// Ends all connections of the client; what is under way has no answer.
    func cut() {
        for write in held { write.answer(nil) }
        writes = []
        guard let stream else { return }
        clock.after(1) { [self] in
            guard self.stream?.number == stream.number else { return }
            stream.events(.ended)
        }
    }

    /// Forgets what is held, since the client has ended.
    func forget() {
        writes = []
        stream = nil
    }
}
