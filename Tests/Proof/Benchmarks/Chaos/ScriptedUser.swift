import LineClient
import LineProtocol
import NetworkIO

/// A user and a friend who send one request after another, each on whatever node they find.
@Stage final class ScriptedUser {
    private static let pauseMilliseconds = 30...90
    /// The codes with which a node may refuse what it does not have yet.
    private static let notHere: Set<Int> = [404]

    private(set) var expectations: ScriptedExpectations
    private(set) var isDone = false
    private(set) var sessionsChecked = 0
    private(set) var isSeeded = false
    private var isStopping = false
    private let load: ChaosLoad
    private var random: SeededRandom
    /// The scripts that remain in this round, by the numbers of `doOne`.
    private var userScripts: [Int] = []
    /// The small scripts that remain in this round, by the numbers of `doSmallThings`.
    private var smallThings: [Int] = []
    private var node = 0
    private var connection: LineConnection?

    init(_ number: Int, seed: UInt64, _ load: ChaosLoad) {
        expectations = ScriptedExpectations(number)
        random = SeededRandom(seed: seed)
        self.load = load
    }

    /// The requests that must succeed before any fault.
    var preparations: [String] {
        let pair = "\(expectations.user),\(expectations.friend)"
        return [
            "CREATE \(expectations.conversation) \(pair)",
            "CREATE \(expectations.hidableConversation) \(pair)",
            "DEVICE ADD \(expectations.user) \(ScriptedExpectations.device) token=one",
            "DEVICE ADD \(expectations.user) \(ScriptedExpectations.viewingDevice) token=two",
        ]
    }

    func onWipe() {
        expectations.onWipe()
        isSeeded = false
    }

    func stop() { isStopping = true }

    func run() async {
        while !isStopping {
            if await connect() { await doOne() }
            connection?.close()
            connection = nil
            // The pause gives two writes different times, whichever nodes execute them.
            await Stage.pause(milliseconds: UInt64(random.within(Self.pauseMilliseconds)))
        }
        isDone = true
    }

    private func doOne() async {
        // Scripts are dealt like cards, so that even a slow run executes each kind.
        if userScripts.isEmpty { userScripts = Array(0..<12).shuffled(using: &random) }
        switch userScripts.removeLast() {
        case 0: await setProfile()
        case 1, 2: await act()
        case 3, 4, 5: await write()
        case 6: await hide()
        case 7, 8: await readNotifications()
        default: await doSmallThings()
        }
    }

    // MARK: Nodes

    /// Connects to any node that is meant to serve, except `last`.
    private func connect(but last: Int? = nil) async -> Bool {
        let able = load.open.subtracting(load.excused).sorted().filter { $0 != last }
        guard !able.isEmpty else { return false }
        node = able[random.below(able.count)]
        do throws(LineFailure) {
            connection = try await LineConnection.dial(load.addresses[node])
            // Every other pair uses `ack=local`, so that it continues while an owner is silent.
            if expectations.number.isMultiple(of: 2) {
                _ = try await connection?.ask("SET ack=local")
            }
            return true
        } catch {
            return false
        }
    }

    /// - Parameter refusals: the codes that a correct node may answer.
    /// - Returns: nil if the outcome is unknown.
    private func ask(_ line: String, refusals: Set<Int> = []) async -> LineReply? {
        guard let connection else { return nil }
        do throws(LineFailure) {
            let reply = try await connection.ask(line)
            load.noteUserScript(reply, to: line, by: node, refusals: refusals)
            if let code = reply.error?.code, code == 503 || code == 504 { return nil }
            return reply
        } catch {
            if case .silent = error, !load.excused.contains(node) {
                load.report("n\(node + 1), asked '\(line)', \(error)")
            }
            self.connection = nil
            return nil
        }
    }

    // MARK: Scripts

    private func setProfile() async {
        let value = expectations.nextName("value")
        let isName = random.chance(percent: 50)
        let path: WritableKeyPath<ScriptedExpectations, LastValue> = isName ? \.name : \.email
        expectations[keyPath: path].onAttempt(value)
        let reply = await ask("PROFILE \(expectations.user) \(isName ? "name" : "email")=\(value)")
        if reply?.isOK == true { expectations[keyPath: path].onAcknowledged(value) }
        if reply?.isOK == false { expectations[keyPath: path].onRefused(value) }
        _ = await ask("PROFILE \(expectations.user)", refusals: Self.notHere)
    }

    private func act() async {
        let known = expectations.items.keys.sorted()
        if known.count > 3, random.chance(percent: 75) {
            await change(item: known[random.below(known.count)])
        } else {
            await addItem()
        }
        _ = await ask("ACTIONS \(expectations.user)")
    }

    private func change(item id: String) async {
        switch random.below(4) {
        case 0: await editItem(id)
        case 1, 2: await finishItem(id, random.chance(percent: 60))
        default:
            expectations.items[id]?.isDeletionAsked = true
            let line = "ACTION DELETE \(expectations.user) \(id)"
            if await ask(line, refusals: Self.notHere)?.isOK == true {
                expectations.items[id]?.isDeleted = true
            }
        }
    }

    private func addItem() async {
        let (id, title) = (expectations.nextName("item"), expectations.nextName("title"))
        var item = ScriptedExpectations.Item()
        item.title.onAttempt(title)
        item.isDone.onAcknowledged("false")
        expectations.items[id] = item
        let options = random.chance(percent: 50) ? " priority=high" : ""
        let (user, chat) = (expectations.user, expectations.conversation)
        let line = "ACTION ADD \(user) id=\(id) chat=\(chat)\(options) \(title)"
        guard await ask(line, refusals: Self.notHere)?.isOK == true else { return }
        expectations.items[id]?.isCertain = true
        expectations.items[id]?.title.onAcknowledged(title)
    }

    private func editItem(_ id: String) async {
        let title = expectations.nextName("title")
        expectations.items[id]?.title.onAttempt(title)
        let line = "ACTION EDIT \(expectations.user) \(id) title=\(title)"
        guard let reply = await ask(line, refusals: Self.notHere) else { return }
        if reply.isOK {
            expectations.items[id]?.title.onAcknowledged(title)
        } else {
            expectations.items[id]?.title.onRefused(title)
        }
    }

    private func finishItem(_ id: String, _ isDone: Bool) async {
        expectations.items[id]?.isDone.onAttempt(String(isDone))
        let line = "ACTION \(isDone ? "DONE" : "UNDONE") \(expectations.user) \(id)"
        guard let reply = await ask(line, refusals: Self.notHere) else { return }
        // A refusal undoes nothing: an earlier unanswered request may have been the same.
        if reply.isOK { expectations.items[id]?.isDone.onAcknowledged(String(isDone)) }
    }

    /// Lets the friend write, and the user read it here and then on another node.
    private func write() async {
        let known = expectations.notes.keys.sorted()
        if !known.isEmpty, random.chance(percent: 50) {
            await change(known[random.below(known.count)])
        } else {
            await send()
        }
        guard random.chance(percent: 60) else { return }
        await readElsewhere()
    }

    private func send() async {
        let (id, text) = (expectations.nextName("note"), expectations.nextName("text"))
        expectations.notes[id] = ScriptedExpectations.Note()
        expectations.notes[id]?.text.onAttempt(text)
        let reply = await ask(
            "SEND \(expectations.conversation) \(expectations.friend) id=\(id) \(text)")
        guard reply?.isOK == true else { return }
        expectations.notes[id]?.isCertain = true
        expectations.notes[id]?.text.onAcknowledged(text)
    }

    private func change(_ id: String) async {
        let place = "\(expectations.conversation) \(id) \(expectations.friend)"
        guard !random.chance(percent: 30) else {
            expectations.notes[id]?.isRetractionAsked = true
            let line = "DELETE \(place) for=everyone"
            if await ask(line, refusals: Self.notHere)?.isOK == true {
                expectations.notes[id]?.isRetracted = true
            }
            return
        }
        let text = expectations.nextName("text")
        expectations.notes[id]?.text.onAttempt(text)
        // An edit of a deleted message is refused with 403.
        guard let reply = await ask("EDIT \(place) \(text)", refusals: [403, 404]) else { return }
        if reply.isOK {
            expectations.notes[id]?.text.onAcknowledged(text)
        } else {
            if reply.error == .editRefused, expectations.notes[id]?.isRetractionAsked != true {
                load.report("n\(node + 1) refuses to edit \(id), which nobody deleted")
            }
            expectations.notes[id]?.text.onRefused(text)
        }
    }

    /// Takes a token from one node to another, which must not show anything older.
    private func readElsewhere() async {
        let request = "HISTORY \(expectations.conversation) \(expectations.user) limit=50"
        let wipes = expectations.wipes
        guard let seen = await ask(request), seen.isOK,
            let token = await ask("TOKEN")?.ok?["token"]
        else { return }
        let first = node
        connection?.close()
        connection = nil
        guard await connect(but: first), await ask("SINCE \(token)")?.isOK == true,
            let later = await ask(request), later.isOK, wipes == expectations.wipes
        else { return }
        sessionsChecked += 1
        let findings = expectations.findings(in: Self.lines(later), after: Self.lines(seen))
        let place = "n\(node + 1), since a token of n\(first + 1), \(expectations.conversation)"
        for finding in findings.prefix(3) { load.report("\(place): \(finding)") }
    }

    static func lines(_ reply: LineReply) -> [HistoryLine] {
        reply.dataLines.compactMap { HistoryLine($0) }
    }

    /// Sends a message, and then in half of the cases hides the conversation.
    private func hide() async {
        let id = expectations.nextName("hidable")
        expectations.allHidable.insert(id)
        let send =
            "SEND \(expectations.hidableConversation) \(expectations.friend) id=\(id) something"
        guard await ask(send)?.isOK == true else { return }
        expectations.unhidden.insert(id)
        guard random.chance(percent: 50) else { return }
        expectations.unhidden = []
        let line = "HIDECHAT \(expectations.hidableConversation) \(expectations.user)"
        if await ask(line)?.isOK == true { expectations.hidden.insert(id) }
    }

    private func readNotifications() async {
        let device = "\(expectations.user) \(ScriptedExpectations.device)"
        let list = "NOTIFICATIONS \(device)"
        guard let reply = await ask(list), reply.isOK else { return }
        let lines = reply.data("NOTIFICATION")
        report(expectations.findings(inNotifications: lines))
        expectations.listed.formUnion(lines.compactMap { $0["message"] })
        guard !lines.isEmpty, random.chance(percent: 50) else { return }
        let index = random.below(lines.count)
        guard let id = lines[index]["id"] else { return }
        let wipes = expectations.wipes
        guard await ask("NOTIFIED \(device) \(id)")?.isOK == true, wipes == expectations.wipes
        else { return }
        let taken = Set(lines[...index].compactMap { $0["id"] })
        expectations.acknowledged.formUnion(taken)
        expectations.acknowledgedMessages.formUnion(lines[...index].compactMap { $0["message"] })
        guard let again = await ask(list), again.isOK else { return }
        let back = again.data("NOTIFICATION").compactMap { $0["id"] }.filter(taken.contains)
        report(back.map { "notification \($0) was taken off on this connection" })
    }

    private func report(_ findings: [String]) {
        for finding in findings.prefix(3) {
            load.report("n\(node + 1), NOTIFICATIONS of \(expectations.user): \(finding)")
        }
    }

    private func doSmallThings() async {
        let here = "\(expectations.conversation) \(expectations.user)"
        if smallThings.isEmpty { smallThings = Array(0..<5).shuffled(using: &random) }
        switch smallThings.removeLast() {
        case 0:
            _ = await ask("TYPING \(here) on")
            if random.chance(percent: 50) { _ = await ask("TYPING \(here) off") }
        case 1: _ = await ask("DELIVERED \(here)")
        case 2:
            let isOn = random.chance(percent: 50)
            let device = "\(expectations.user) \(ScriptedExpectations.viewingDevice)"
            _ = await ask("DEVICE ADD \(device) token=\(expectations.nextName("token"))")
            _ = await ask("VIEWING \(device)" + (isOn ? " \(expectations.conversation)" : ""))
        case 3:
            let wipes = expectations.wipes
            if await ask("SEED")?.isOK == true, wipes == expectations.wipes { isSeeded = true }
        default:
            guard await ask("WATCH \(expectations.user)")?.isOK == true else { return }
            _ = await ask("UNWATCH")
        }
    }
}
