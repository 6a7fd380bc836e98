import Foundation
import TestKit

@testable import GrapevineClient

/// A request as the model reads it.
private struct Asked {
    let parts: [String]
    private(set) var query: [String: String] = [:]

    init(_ path: String) {
        let halves = path.split(separator: "?", maxSplits: 1).map(String.init)
        parts = halves[0].split(separator: "/").dropFirst().map(Self.decoded)
        for pair in halves.dropFirst().joined().split(separator: "&") {
            let names = pair.split(separator: "=", maxSplits: 1).map(Self.decoded)
            query[names[0]] = names.last
        }
    }

    private static func decoded(_ text: Substring) -> String {
        String(text).removingPercentEncoding ?? ""
    }

    subscript(place: Int) -> String? { place < parts.count ? parts[place] : nil }
}

extension ModelCluster {
    /// Returns the token that a client's stream is to go on from.
    static func since(_ path: String) -> [Int]? {
        Asked(path).query["since"].map(vector)
    }

    static func vector(_ token: String) -> [Int] {
        token.split { !$0.isNumber }.compactMap { Int($0) }
    }

    /// Answers a request by what a node has.
    func answer(_ node: ModelNode, _ call: Call) -> Response {
        let asked = Asked(call.request.path)
        if asked[0] == "sessions" {
            return renew(text(call, "refreshToken"), as: text(call, "id"))
        }
        guard let user = access(call.accessToken)?.user else {
            return .refused(401, "The access token is not valid")
        }
        let tokens = fault == .laterTokensIgnored ? call.tokens.prefix(1) : call.tokens[...]
        let token = tokens.map(Self.vector)
            .reduce(node.vector.map { _ in 0 }) { zip($0, $1).map(max) }
        if call.tokens.count > Call.tokensMax { return .refused(400, "Too many tokens") }
        if zip(token, node.vector).contains(where: { $0 > $1 }) {
            return .refused(503, "This node has not seen that yet")
        }
        var response = answer(node, user, call, asked)
        let told = zip(node.vector, token).map(max)
        response.token = "[" + told.map(String.init).joined(separator: ",") + "]"
        trace(
            "n\(node.index) \(user) \(call.request.method.rawValue) \(call.request.path) "
                + "\(call.operation ?? "") \(call.tokens.joined(separator: " ")) "
                + "\(response.status) \(node.vector)"
        )
        return response
    }

    private func answer(
        _ node: ModelNode, _ user: String, _ call: Call, _ asked: Asked
    ) -> Response {
        switch asked[0] {
        case "chats": return answerChat(node, user, call, asked)
        case "items": return Response(ModelJSON(["items": .objects([])]))
        case "profiles": return profiles(asked)
        case "conversations" where call.request.method == .get:
            return node.refusal(of: asked[1] ?? "", to: user) ?? list(node, user, asked)
        case "conversations": return write(node, user, call, asked)
        default: return .refused(404, "No such path")
        }
    }

    private func text(_ call: Call, _ name: String) -> String {
        if case .text(let text)? = call.request.body[name] { return text }
        return ""
    }

    private func profiles(_ asked: Asked) -> Response {
        let users = asked.query["users"]?.split(separator: ",") ?? []
        let created = Value.time(ExactTime(milliseconds: 1))
        return Response(
            ModelJSON([
                "profiles": .objects(
                    users.map { user in
                        ModelJSON([
                            "user": .text("\(user)"), "name": .text("\(user)"),
                            "nameChanged": created, "createdAt": created,
                        ])
                    })
            ]))
    }

    private typealias Value = ModelJSON.Value

    private func answerChat(
        _ node: ModelNode, _ user: String, _ call: Call, _ asked: Asked
    ) -> Response {
        guard call.request.method == .get else { return write(node, user, call, asked) }
        let rows = node.rows(user)
        guard let id = asked[1] else {
            return Response(ModelJSON(["chats": .objects(rows.filter { $0["hidden"] == nil })]))
        }
        for row in rows {
            if case .text(id)? = row["id"] { return Response(row) }
        }
        return node.refusal(of: id, to: user) ?? .refused(503, "Not here yet")
    }

    private func list(_ node: ModelNode, _ user: String, _ asked: Asked) -> Response {
        let conversation = asked[1] ?? ""
        switch asked[2] {
        case "pins":
            let pins = node.shown(conversation, user).filter { $0.pinnedBy != nil }
            return Response(ModelJSON(["messages": .objects(pins.map(told))]))
        case "marks":
            let marks = node.marks(conversation)
            let users = Set(marks.map(\.user)).sorted()
            let list = users.map { told($0, marks) }
            return Response(ModelJSON(["marks": .objects(list)]))
        case "messages" where asked[3] != nil:
            let message = node.shown(conversation, user).first { $0.id == asked[3] }
            return message.map { Response(told($0)) }
                ?? .refused(404, "Message not found", reason: "message_not_found")
        default:
            var all = node.messages(conversation, user)
            if let before = asked.query["before"] {
                guard let end = all.firstIndex(where: { $0.id == before }) else {
                    return .refused(503, "Not here yet")
                }
                all = Array(all[..<end])
            }
            let limit = Int(asked.query["limit"] ?? "") ?? 50
            let page = all.filter { !$0.isHidden }.suffix(limit)
            return Response(ModelJSON(["messages": .objects(page.map(told))]))
        }
    }

    private func told(_ message: ModelMessage) -> ModelJSON {
        var json = message.json
        json["at"] = .time(message.at)
        return json
    }

    private func told(_ user: String, _ marks: [ModelMark]) -> ModelJSON {
        var json = ModelJSON(["user": .text(user)])
        for mark in marks where mark.user == user {
            let name = mark.kind.rawValue
            json[name] = .text(mark.message)
            json[name + "Sent"] = .time(mark.sent)
            json[name + "At"] = .time(mark.at)
        }
        return json
    }

    // MARK: Writes

    private func change(_ user: String, _ call: Call, _ asked: Asked) -> ModelChange? {
        let method = call.request.method
        var change = ModelChange(
            kind: .message, by: user, conversation: asked[1] ?? "", id: asked[3] ?? "",
            text: text(call, "text"), operation: call.operation)
        switch (asked[0], asked[2]) {
        case ("conversations", nil):
            change.kind = .create
            change.conversation = text(call, "id")
            change.text = text(call, "title")
            change.users = [user]
            if case .list(let emails)? = call.request.body["emails"] {
                change.users += emails.map { String($0.prefix { $0 != "@" }) }
            }
        case ("conversations", "leave"): change.kind = .leave
        case ("chats", "archive"): change.kind = method == .put ? .archive : .unarchive
        case ("chats", _): change.kind = .hide
        case (_, "pins"): change.kind = method == .put ? .pin : .unpin
        case (_, "marks"):
            change.kind = asked[3] == "read" ? .read : .delivered
            change.id = text(call, "message")
        case (_, "messages") where asked[4] == "restore": change.kind = .restore
        case (_, "messages") where method == .post:
            change.id = text(call, "id")
            if case .text(let file)? = call.request.body["blob"] { change.file = file }
        case (_, "messages") where method == .patch: change.kind = .edit
        case (_, "messages") where method == .delete:
            change.kind = asked.query["for"] == "everyone" ? .retract : .delete
        default: return nil
        }
        return change
    }

    private func write(
        _ node: ModelNode, _ user: String, _ call: Call, _ asked: Asked
    ) -> Response {
        if asked[2] == "blobs", call.request.method == .put {
            if happens(5) { return .refused(503, "Not now") }
            let name = String(decoding: call.request.file ?? Data(), as: UTF8.self)
            guard name == asked[3] else { return .refused(409, "Other bytes") }
            node.files.insert(name)
            return Response(ModelJSON(["id": .text(name)]))
        }
        guard let change = change(user, call, asked) else {
            return .refused(404, "No such path")
        }
        let isStamped =
            change.kind != .message && change.kind != .create && !change.kind.isMark
        if isStamped {
            let content = "\(change.kind) \(change.conversation) \(change.id) \(change.text)"
            journal.note(call.operation, content, lane: change.conversation)
        }
        if fault == .writesLost, random.chance(3) {
            return done(ExactTime(milliseconds: clock.now))
        }
        // What is recorded is answered as the first time, before any rule.
        if fault != .writesRepeated, let done = node.done(call.operation) {
            return self.done(done.at)
        }
        let stamp = call.operation.flatMap(ModelStamp.init)?.time
        if let stamp, let refusal = untimely(stamp, call.operation) { return refusal }
        return execute(change, stamp, node)
    }

    private func execute(_ change: ModelChange, _ stamp: ExactTime?, _ node: ModelNode) -> Response
    {
        if change.kind == .create {
            if let known = node.creation(of: change.conversation) { return done(known.at) }
            if happens(3) { return .refused(503, "Not now") }
            return done(node.accept(change, stamp: nil, now: clock.now).at)
        }
        if let refusal = node.refusal(of: change.conversation, to: change.by) { return refusal }
        let known = node.messages(change.conversation, change.by).first { $0.id == change.id }
        if change.kind == .message, let known { return done(known.at) }
        // In a real cluster a node that lacks a message asks one that has it.
        if change.kind != .message, !change.id.isEmpty, known == nil {
            return .refused(503, "Not here yet")
        }
        // A file that is not sent in time is deleted.
        if happens(10) { node.files = [] }
        if let file = change.file, !node.files.contains(file) {
            return .refused(404, "File not found", reason: "file_not_found")
        }
        if happens(3) { return .refused(503, "Not now") }
        if happens(1) { return .refused(429, "Slower") }
        if change.kind == .pin, change.id.first == "a" {
            return .refused(409, "Not this one")
        }
        if change.text.hasPrefix("forbidden") { return .refused(403, "Not this text") }
        if fault == .deletionsForgotten, change.kind == .retract { return done(stamp ?? .zero) }
        let time = fault == .writesRepeated ? nil : stamp
        return done(node.accept(change, stamp: time, now: clock.now).at)
    }

    private func done(_ time: ExactTime) -> Response {
        Response(ModelJSON(["at": .time(time)]))
    }

    private func untimely(_ time: ExactTime, _ operation: String?) -> Response? {
        let now = clock.now
        if time.milliseconds > now + Self.operationLead {
            journal.noteExpired(operation)
            return .refused(408, "Not yet", reason: "operation_early", now: now)
        }
        guard time.milliseconds < now - Self.operationAge else { return nil }
        journal.noteExpired(operation)
        return .refused(408, "Too late", reason: "operation_expired", now: now)
    }
}
