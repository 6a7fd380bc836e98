import Foundation

@testable import GrapevineClient

/// A scenario of `Tests/client/scenarios`.
struct Scenario: Decodable {
    let name: String
    let given: ScriptedJSON?
    let steps: [ScriptedJSON]
}

/// A run of a scenario by this client.
final class ScenarioRun {
    /// The seconds of `T100`, at which the client starts.
    private static let start: Int64 = 100
    /// Seconds until the first step.
    private static let loading: Int64 = 10
    /// Milliseconds in which what a step has caused has happened.
    private static let step: Int64 = 60
    /// Milliseconds after which a request is missed.
    private static let patience: Int64 = 10_000
    private static let chat = "lunch"

    private let clock = VirtualClock()
    private let device: DeviceClock
    private let zero: Int64
    private let nodes: ScriptedNodes
    private let store: Store
    private let steps: [ScriptedJSON]
    private var core: Core?
    private var armed: Int64 = .max
    private var starts = 0
    private var ids = 0
    private var isViewing = false
    /// The codes of the refusals that were told, since they were last checked.
    private var refused: [Int64] = []

    /// - Parameter world: what nodes have at first.
    init(world: ScriptedJSON, _ scenario: Scenario) throws(StoreError) {
        device = DeviceClock(clock, lead: 0)
        zero = clock.now - Self.start * 1_000
        steps = scenario.steps
        store = try Store(path: ":memory:")
        nodes = ScriptedNodes(clock, world: world)
        let given = world.members.merging(scenario.given?.members ?? [:]) { _, given in given }
        nodes.world = timed(.object(given))
        let signIn = SignIn(
            user: "u-alice", email: "alice@example.org", accessToken: "a", refreshToken: "r",
            seconds: 86_400, now: device.deviceTime)
        try store.commit([.signIn(signIn)])
    }

    /// Performs the steps.
    ///
    /// - Throws: what does not hold.
    func perform() throws {
        try begin()
        try pass(zero + (Self.start + Self.loading) * 1_000 - clock.now)
        nodes.reads = []
        nodes.told = []
        for (index, step) in steps.enumerated() {
            let wrong = try perform(step) ?? nodes.violations.first
            if let wrong { throw ModelFailure("step \(index + 1) \(step.json): \(wrong)") }
        }
    }

    private func begin() throws(StoreError) {
        starts += 1
        core = try Core(
            store: store, transport: nodes, nodes: 2, clock: device,
            makeID: { [unowned self] in
                ids += 1
                return "made\(ids)"
            },
            outlets: Core.Outlets(
                report: { [unowned self] news in
                    if case .refused(_, let error) = news { refused.append(Int64(error.code)) }
                }, refresh: { _ in }))
        armed = .max
        core?.set(.connected)
        core?.open(Self.chat)
        core?.view(isViewing ? Self.chat : nil)
        arm()
    }

    // MARK: Time

    private func pass(_ milliseconds: Int64) throws(ModelFailure) {
        arm()
        try clock.run(until: clock.now + milliseconds) { [self] () throws(ModelFailure) in arm() }
    }

    /// Has the client called when its deadline comes.
    private func arm() {
        guard let deadline = core?.deadline else { return }
        let at = max(deadline, device.elapsed + 1)
        guard at < armed else { return }
        armed = at
        let present = starts
        clock.after(at - device.elapsed) { [self] in
            guard starts == present, armed == at else { return }
            armed = .max
            core?.tick()
        }
    }

    /// Replaces names of times and of what the client makes by what they stand for.
    private func timed(_ value: ScriptedJSON) -> ScriptedJSON {
        value.mapTexts { text in
            if text.hasPrefix("$") { return "id-" + text.dropFirst() }
            let parts = text.dropFirst().split(separator: "+").map { Int64($0) }
            guard text.hasPrefix("T"), parts.count <= 2, let second = parts.first ?? nil else {
                return text
            }
            let counter = parts.count > 1 ? parts[1] ?? 0 : 0
            return ExactTime(
                milliseconds: zero + second * 1_000, counter: UInt16(clamping: counter)
            ).description
        }
    }

    // MARK: Steps

    /// Performs a step, and returns what is wrong.
    private func perform(_ named: ScriptedJSON) throws -> String? {
        let step = timed(named)
        if let action = step["do"] { return act(action.elements, fails: step["fails"]?.number) }
        if let wait = step["wait"]?.number {
            try pass(wait)
        } else if let event = step["event"] {
            let defaults: [String: ScriptedJSON] = [
                "conversation": .text(Self.chat), "by": .text("u-bob"),
            ]
            nodes.tell(.object(defaults.merging(event.members) { _, given in given }))
        } else if let change = step["nodes"] {
            self.change(change)
        } else if let status = step["answer"]?.number {
            return try answer(Int(status), step)
        } else if step["cut"] != nil {
            nodes.cut()
        } else if let isUp = step["network"]?.flag {
            nodes.isUp = isUp
        } else if step["restart"] != nil {
            core?.end()
            nodes.forget()
            store.forgetCaches()
            try begin()
        } else {
            return try check(named)
        }
        try pass(Self.step)
        return nil
    }

    /// Changes what nodes have from here on.
    private func change(_ change: ScriptedJSON) {
        for (name, value) in change.members {
            switch name {
            case "lags": nodes.lags = value == .flag(true)
            case "refusesTokens": nodes.refusesTokens = value == .flag(true)
            case "message":
                var messages = nodes.world["messages"] ?? .object([:])
                var list = messages[Self.chat] ?? .list([])
                list.merge(element: value)
                messages[Self.chat] = list
                nodes.world["messages"] = messages
            case "row":
                var row = value
                row["id"] = .text(Self.chat)
                nodes.world["chats"]?.merge(element: row)
            default: nodes.world[name] = value
            }
        }
    }

    private func answer(_ status: Int, _ step: ScriptedJSON) throws -> String? {
        try wait { !self.nodes.held.isEmpty }
        guard let held = nodes.held.first else { return "no write is held" }
        if status == 200 {
            let time = held.call.operation.map { String($0.suffix(30)) } ?? nodes.now.description
            nodes.answerFirst(nodes.answer(["at": step["at"] ?? .text(time)]))
        } else if status > 0 {
            nodes.answerFirst(nodes.refusal(status, reason: step["reason"]?.text ?? ""))
        } else {
            nodes.loseFirst()
        }
        try pass(Self.step)
        return nil
    }

    private func act(_ parts: [ScriptedJSON], fails: Int64?) -> String? {
        var code: Int64?
        do throws(GrapevineError) {
            try perform(parts.first?.text ?? "", Array(parts.dropFirst()))
        } catch {
            code = Int64(error.code)
        }
        return code == fails ? nil : "it fails with \(code.map(String.init) ?? "nothing")"
    }

    private func perform(_ kind: String, _ parts: [ScriptedJSON]) throws(GrapevineError) {
        switch kind {
        case "view":
            isViewing = parts[0] == .flag(true)
            core?.view(isViewing ? Self.chat : nil)
        case "type": core?.setTyping(parts[0] == .flag(true), in: Self.chat)
        case "loadEarlier": core?.loadEarlier(in: Self.chat) { _ in }
        default:
            let texts = parts.map { $0.text ?? "" }
            guard let action = ofMessage(kind, texts) ?? ofConversation(kind, parts) else {
                preconditionFailure("No action is called \(kind)")
            }
            try core?.act(action)
        }
    }

    private func ofMessage(_ kind: String, _ parts: [String]) -> Action? {
        let (chat, message) = (Self.chat, parts.first ?? "")
        switch kind {
        case "send":
            return .send(conversation: chat, message: message, Action.Draft(text: parts[1]))
        case "edit": return .edit(conversation: chat, message: message, text: parts[1])
        case "delete": return .delete(conversation: chat, message: message)
        case "deleteForEveryone": return .deleteForEveryone(conversation: chat, message: message)
        case "restore": return .restore(conversation: chat, message: message)
        case "pin": return .pin(conversation: chat, message: message)
        case "unpin": return .unpin(conversation: chat, message: message)
        default: return nil
        }
    }

    private func ofConversation(_ kind: String, _ parts: [ScriptedJSON]) -> Action? {
        let (chat, id) = (Self.chat, parts.first?.text ?? "")
        switch kind {
        case "archive": return .archive(conversation: chat)
        case "unarchive": return .unarchive(conversation: chat)
        case "hide": return .hide(conversation: chat, through: lastSent)
        case "leave": return .leave(conversation: chat)
        case "create":
            return .create(
                conversation: id, title: parts[1].text ?? "",
                emails: parts[2].elements.compactMap(\.text))
        case "addItem": return .addItem(Action.ItemDraft(id: id, title: parts[1].text ?? ""))
        case "editItem": return .editItem(item: id, changes(parts[1]))
        case "completeItem": return .completeItem(item: id, isDone: parts[1] == .flag(true))
        case "deleteItem": return .deleteItem(item: id)
        case "setName": return .setProfile(name: id, photo: nil)
        default: return nil
        }
    }

    private func changes(_ value: ScriptedJSON) -> Action.ItemChanges {
        var changes = Action.ItemChanges()
        changes.title = value["title"]?.text
        changes.due = value["due"].map { Maybe($0.text) }
        changes.priority = value["priority"].map { Maybe($0.text) }
        return changes
    }

    private var lastSent: ExactTime? {
        do throws(StoreError) {
            return try core?.stretch(of: Self.chat).last?.sent
        } catch {
            preconditionFailure("A store in memory does not fail: \(error)")
        }
    }

    /// Has time pass until something holds.
    private func wait(until condition: () throws -> Bool) throws {
        try pass(Self.step)
        for _ in 0..<Self.patience / Self.step {
            if try condition() { return }
            try pass(Self.step)
        }
    }

    // MARK: Checks

    /// Compares what a step names with what there is, and returns what is wrong.
    private func check(_ step: ScriptedJSON) throws -> String? {
        guard let core else { return "The client does not run" }
        let name = step.members.keys.first { $0 != "of" } ?? ""
        let conversation = timed(step["of"] ?? .text(Self.chat)).text ?? ""
        if ["reads", "told"].contains(name) { try pass(Self.step) }
        if name == "asks" { try wait { self.named(self.asked) == step[name] } }
        let found = try actual(name, of: conversation, core).map(named)
        return found == step[name] ? nil : "it is \(found?.json ?? "nothing")"
    }

    private var asked: ScriptedJSON {
        .list(nodes.held.map { text($0.call.request, $0.path) }.sorted().map(ScriptedJSON.text))
    }

    /// Replaces what the client has made by its names.
    private func named(_ value: ScriptedJSON) -> ScriptedJSON {
        value.mapTexts { $0.replacing("id-", with: "$") }
    }

    private func actual(
        _ name: String, of conversation: String, _ core: Core
    ) throws(StoreError) -> ScriptedJSON? {
        let texts = { (list: [String]) in ScriptedJSON.list(list.map(ScriptedJSON.text)) }
        defer {
            if name == "refused" { refused = [] }
            if name == "reads" { nodes.reads = [] }
            if name == "told" { nodes.told = [] }
        }
        switch name {
        case "shows": return texts(try core.snapshot(of: conversation).messages.map(Self.text))
        case "pins": return texts(try core.snapshot(of: conversation).pins.map(\.id))
        case "lists":
            let all = try core.conversations()
            let sorted = all.filter { !$0.isArchived } + all.filter(\.isArchived)
            return texts(sorted.map(Self.text))
        case "items": return texts(try core.items().map(text))
        case "name": return .text(try core.profile(of: core.user).displayName)
        case "typing": return texts(try core.snapshot(of: conversation).typingUsers)
        case "online": return .flag(core.machines.link.state == .online)
        case "hasEarlier": return .flag(try core.snapshot(of: conversation).hasEarlier)
        case "refused": return .list(refused.map(ScriptedJSON.number))
        case "asks": return asked
        case "reads": return .flag(!nodes.reads.isEmpty)
        case "told": return texts(nodes.told)
        default: return nil
        }
    }

    private static func text(_ message: Message) -> String {
        var words = [message.id, message.isDeletedForEveryone ? "deleted" : message.text]
        if message.wasEdited, !message.isDeletedForEveryone { words.append("edited") }
        if let user = message.pinnedBy { words.append("pinned by \(user)") }
        if message.status != .sent { words.append(message.status.rawValue) }
        return words.joined(separator: " ")
    }

    private static func text(_ line: Conversation) -> String {
        var words = ["\(line.id): \(line.lastMessage.text)"]
        if line.unreadCount > 0 { words.append("\(line.unreadCount) unread") }
        if line.isArchived { words.append("archived") }
        return words.joined(separator: ", ")
    }

    private func text(_ item: ActionItem) -> String {
        var words = ["\(item.id) \(item.title)"]
        if let due = item.dueDate {
            let seconds = Int64(due.timeIntervalSince1970) - zero / 1_000
            words.append("due T\(seconds)")
        }
        if let priority = item.priority { words.append(priority.rawValue) }
        if item.isCompleted { words.append("done") }
        if !item.isSynced { words.append("waiting") }
        return words.joined(separator: ", ")
    }

    private func text(_ request: Request, _ path: String) -> String {
        let body = request.body.filter { $0.key != "id" && $0.key != "type" }
            .map { name, value in "\(name)=\(text(value))" }
        let short = path.replacing("conversations/\(Self.chat)/", with: "")
        return ([request.method.rawValue, short] + body.sorted()).joined(separator: " ")
    }

    private func text(_ value: Request.Value) -> String {
        switch value {
        case .text(let text): text
        case .list(let list): ScriptedJSON.list(list.map(ScriptedJSON.text)).json
        case .flag(let flag): "\(flag)"
        case .null: "null"
        }
    }
}
