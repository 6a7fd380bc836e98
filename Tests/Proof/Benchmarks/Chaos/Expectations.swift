/// The requests of a chaos run and their outcomes, and thus what must exist at the end.
struct Expectations: Sendable {
    /// The users.
    ///
    /// The first four are in every conversation: one who deletes nothing and sends nothing, two who
    /// delete messages for themselves, and one whose messages may be deleted for everyone. The
    /// guests join and leave.
    static let users = ["keeper", "hana", "hugo", "sam", "gita", "goran"]
    static let creator = 0
    static let hiders = 1...2
    static let retractor = 3
    static let founders = 0...3
    static let guests = 4...5
    static let placeholder = "[Message deleted]"
    /// The limit of edits that the run requests of one message: fewer than a message may have, even
    /// if some are repeated.
    static let editsMax = 40

    struct Message: Sendable {
        let conversation: Int
        let sender: Int
        var sent = Certainty.possible
        /// The earliest of the times that acknowledging nodes gave the message.
        var sentAt: String?
        /// The first acknowledging node, with time and number of disks, for the reader of a
        /// finding.
        var receipt = ""
        /// The nodes that acknowledged it and have not lost their disks since, one bit each.
        var holders: UInt16 = 0
        var edits: [Certainty] = []
        var retracted = Certainty.never
        /// The nodes that acknowledged its deletion, one bit each, and the time of the last.
        var retractors: UInt16 = 0
        var retractedTime = 0
        /// The participant states of the users in `hiders`.
        var ownDeletions = [OwnDeletion](repeating: OwnDeletion(), count: Expectations.hiders.count)
        var pin = Switch()

        /// Gives up the expectations that only the lost disk may have met.
        mutating func onWipe(of node: Int) {
            sent.onWipe(of: node)
            retracted.onWipe(of: node)
            for edit in edits.indices { edits[edit].onWipe(of: node) }
            for ownDeletion in ownDeletions.indices { ownDeletions[ownDeletion].onWipe(of: node) }
            pin.onWipe(of: node)
        }

        mutating func dropNode(_ node: Int) {
            holders &= ~(1 << UInt16(node))
            retractors &= ~(1 << UInt16(node))
        }
    }

    /// The expectations of one user in one conversation.
    struct Part: Sendable {
        var archive = Switch()
        /// Whether a guest is in the conversation.
        var presence = Switch()
        /// The messages up to which the user has read.
        var reads: [Int: Certainty] = [:]

        mutating func onWipe(of node: Int) {
            archive.onWipe(of: node)
            presence.onWipe(of: node)
            for message in reads.keys { reads[message]?.onWipe(of: node) }
        }
    }

    let conversations: Int
    /// The nodes that execute requests on their own disk, because they own every shard and have
    /// been ready for a while; a change that another node acknowledges may be on any disk.
    private(set) var ownDisks: Set<Int>
    private(set) var messages: [Message] = []
    /// By conversation, the messages that were sent into it.
    private(set) var byConversation: [[Int]]
    /// By conversation, the expectations of each user.
    private(set) var parts: [[Part]]
    /// The number of acknowledgements; a read is compared with those before it.
    private(set) var time = 0
    /// The node whose disk was lost, and the time.
    private var wiped: (node: Int, time: Int)?

    init(conversations: Int, ownDisks: Set<Int> = []) {
        self.conversations = conversations
        self.ownDisks = ownDisks
        parts = .init(
            repeating: .init(repeating: Part(), count: Self.users.count), count: conversations)
        byConversation = .init(repeating: [], count: conversations)
    }

    static func name(ofConversation conversation: Int) -> String { "c\(conversation)" }

    static func id(of message: Int) -> String { "m\(message)" }

    static func message(withID id: String) -> Int? {
        id.first == "m" ? Int(id.dropFirst()) : nil
    }

    /// Returns the text with which a message was sent, or that its edit of this number gives it.
    ///
    /// All texts differ, so that a text shows its origin.
    static func text(of message: Int, edit: Int? = nil) -> String {
        let text = edit.map { "edit \($0) of message \(message)" } ?? "text of message \(message)"
        return text + " ............................................................"
    }

    // MARK: Requests

    mutating func addMessage(in conversation: Int, from sender: Int) -> Int {
        byConversation[conversation].append(messages.count)
        messages.append(Message(conversation: conversation, sender: sender))
        return messages.count - 1
    }

    /// - Returns: the number of the edit.
    mutating func addEdit(of message: Int) -> Int {
        messages[message].edits.append(.possible)
        return messages[message].edits.count - 1
    }

    mutating func onAttempt(_ request: ChaosRequest, at node: Int) {
        switch request.kind {
        case .send, .edit, .read, .history, .pinned, .chats, .unread: break
        case .retract: messages[request.target].retracted.onAttempt()
        case .hide, .restore:
            messages[request.target].ownDeletions[ownDeletion(of: request)].onAttempt(
                isDeletion: request.kind == .hide, at: disk(of: node),
                isRepeat: request.attempts > 1)
        case .turn(let thing, let isOn):
            change(thing, of: request) { $0.onAttempt(isOn) }
        }
    }

    /// Records a request about a participant state; no other one is sent until it is answered.
    mutating func onBegin(_ request: ChaosRequest) {
        guard request.kind == .hide || request.kind == .restore else { return }
        messages[request.target].ownDeletions[ownDeletion(of: request)].onBegin()
    }

    // MARK: Replies

    /// - Parameter at: the reply's `at=`.
    mutating func onAcknowledged(
        _ request: ChaosRequest, by node: Int, copies: Int, at: String? = nil
    ) {
        time += 1
        let (disk, message) = (disk(of: node), request.target)
        let bit: UInt16 = disk.map { 1 << UInt16($0) } ?? 0
        switch request.kind {
        case .history, .pinned, .chats, .unread: break
        case .send:
            messages[message].sent.onAcknowledged(by: disk, copies: copies)
            messages[message].holders |= bit
            if messages[message].receipt.isEmpty {
                messages[message].receipt = "n\(node + 1) at=\(at ?? "?") replicas=\(copies)"
            }
            messages[message].sentAt = [messages[message].sentAt, at].compactMap(\.self).min()
        case .edit(let number):
            messages[message].edits[number].onAcknowledged(by: disk, copies: copies)
        case .retract:
            messages[message].retracted.onAcknowledged(by: disk, copies: copies)
            messages[message].retractors |= bit
            messages[message].retractedTime = time
        case .hide, .restore:
            messages[message].ownDeletions[ownDeletion(of: request)].onAcknowledged(
                isDeletion: request.kind == .hide, by: disk)
        case .turn(let thing, let isOn):
            change(thing, of: request) { $0.onAcknowledged(isOn, by: disk, copies: copies) }
        case .read:
            parts[messages[message].conversation][request.user].reads[message, default: .possible]
                .onAcknowledged(by: disk, copies: copies)
        }
        doubt(request, copies: copies)
    }

    mutating func onRefused(_ request: ChaosRequest, by node: Int) {
        guard request.kind == .hide || request.kind == .restore else { return }
        // The node may have forwarded the request to an owner that executed it without answering,
        // and got the refusal from another.
        messages[request.target].ownDeletions[ownDeletion(of: request)].onRefused(
            isDeletion: request.kind == .hide,
            isSure: request.attempts == 1 && disk(of: node) != nil)
    }

    // MARK: The nodes

    mutating func setOwnDisk(of node: Int, to isOwn: Bool) {
        if isOwn { ownDisks.insert(node) } else { ownDisks.remove(node) }
    }

    /// Records that this node hands over its shards and ends.
    mutating func onLeave(of node: Int) {
        ownDisks.remove(node)
        for index in messages.indices {
            messages[index].dropNode(node)
            for ownDeletion in messages[index].ownDeletions.indices {
                messages[index].ownDeletions[ownDeletion].onLeave(of: node)
            }
        }
    }

    /// Gives up the expectations that only the lost disk may have met.
    mutating func onWipe(of node: Int) {
        wiped = (node, time)
        for index in messages.indices {
            messages[index].onWipe(of: node)
            messages[index].dropNode(node)
        }
        for conversation in parts.indices {
            for user in parts[conversation].indices {
                parts[conversation][user].onWipe(of: node)
            }
        }
    }

    /// Gives up expectations for a reply that is read after a disk was lost and may have been
    /// written before: a change on one disk of an unknown node may be lost.
    private mutating func doubt(_ request: ChaosRequest, copies: Int) {
        guard copies < 2, let wiped, request.time <= wiped.time else { return }
        switch request.kind {
        case .history, .pinned, .chats, .unread: break
        case .send, .edit, .retract, .hide, .restore, .turn(.pin, _):
            messages[request.target].onWipe(of: wiped.node)
        case .turn(.archive, _), .turn(.presence, _):
            parts[request.target][request.user].onWipe(of: wiped.node)
        case .read:
            parts[messages[request.target].conversation][request.user].onWipe(of: wiped.node)
        }
    }

    private func ownDeletion(of request: ChaosRequest) -> Int {
        request.user - Self.hiders.lowerBound
    }

    private func disk(of node: Int) -> Int? { ownDisks.contains(node) ? node : nil }

    /// Whether this node answers from a disk that has the message.
    func isHeld(_ message: Int, by node: Int) -> Bool {
        ownDisks.contains(node) && messages[message].holders >> UInt16(node) & 1 == 1
    }

    /// Whether this node answers from a disk on which the message is deleted for everyone.
    func isKnownRetracted(_ message: Int, to node: Int) -> Bool {
        ownDisks.contains(node) && messages[message].retractors >> UInt16(node) & 1 == 1
    }

    private mutating func change(
        _ thing: ChaosRequest.Thing, of request: ChaosRequest, _ body: (inout Switch) -> Void
    ) {
        switch thing {
        case .pin: body(&messages[request.target].pin)
        case .archive: body(&parts[request.target][request.user].archive)
        case .presence: body(&parts[request.target][request.user].presence)
        }
    }

    // MARK: Habits

    /// The habits of users in conversations.
    ///
    /// Some users do nothing or one thing, so that the result is known; some do both, so that they
    /// conflict.
    enum Habit { case nothing, onlyOn, both }

    static func habit(of user: Int, in conversation: Int) -> Habit {
        switch (user + conversation) % 3 {
        case 0: .both
        case 1: .onlyOn
        default: .nothing
        }
    }

    // MARK: Totals

    var acknowledgedSends: Int { messages.count { $0.sent.isCertain } }
    var acknowledgedEdits: Int { messages.reduce(0) { $0 + $1.edits.count { $0.isCertain } } }
    var acknowledgedRetractions: Int { messages.count { $0.retracted.isCertain } }
}
