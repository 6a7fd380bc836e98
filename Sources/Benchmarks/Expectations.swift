/// All that a chaos run has asked for and was told, and so what must be there in the end.
struct Expectations: Sendable {
    /// Everybody.
    ///
    /// The first four are in every conversation: one who deletes nothing and sends nothing, two who
    /// delete for themselves, and one whose messages may be deleted for everyone. The guests come
    /// and go.
    static let users = ["keeper", "hana", "hugo", "sam", "gita", "goran"]
    static let keeper = 0
    static let hiders = 1...2
    static let retractor = 3
    static let founders = 0...3
    static let guests = 4...5
    static let placeholder = "[Message deleted]"
    /// Fewer than a message may have, even when some are repeated.
    static let editsMax = 40

    struct Message: Sendable {
        let conversation: Int
        let sender: Int
        var sent = Claim.possible
        /// The time that the node which acknowledged it gave it; of several the earliest.
        var sentAt: String?
        /// Who acknowledged it first, when and on how many disks, for who reads a finding.
        var receipt = ""
        /// The nodes that have acknowledged it and not lost their disks since, one bit each.
        var holders: UInt16 = 0
        var edits: [Claim] = []
        var retracted = Claim.never
        /// The nodes that have acknowledged that it is deleted, and the time of the last.
        var retractors: UInt16 = 0
        var retractedTime = 0
        /// Of the users in `hiders`.
        var seats = [SeatClaims](repeating: SeatClaims(), count: Expectations.hiders.count)
        var pin = Switch()

        /// What only the lost disk held is not asked for in the end.
        mutating func onWipe(of node: Int) {
            sent.onWipe(of: node)
            retracted.onWipe(of: node)
            for edit in edits.indices { edits[edit].onWipe(of: node) }
            for seat in seats.indices { seats[seat].onWipe(of: node) }
            pin.onWipe(of: node)
        }

        mutating func forget(_ node: Int) {
            holders &= ~(1 << UInt16(node))
            retractors &= ~(1 << UInt16(node))
        }
    }

    /// One user in one conversation.
    struct Part: Sendable {
        var archive = Switch()
        /// In or out, of a guest.
        var presence = Switch()
        /// The messages up to which they have read.
        var reads: [Int: Claim] = [:]

        mutating func onWipe(of node: Int) {
            archive.onWipe(of: node)
            presence.onWipe(of: node)
            for message in reads.keys { reads[message]?.onWipe(of: node) }
        }
    }

    let conversations: Int
    /// The nodes that do what they are asked on their own disk, because they own every shard and
    /// have been ready for a while; what another acknowledges may be on any disk.
    private(set) var ownDisks: Set<Int>
    private(set) var messages: [Message] = []
    /// By conversation, the messages that were sent into it.
    private(set) var byConversation: [[Int]]
    /// By conversation, each user's part in it.
    private(set) var parts: [[Part]]
    /// Counts acknowledgements, so that a read knows what came before it.
    private(set) var time = 0
    /// The node whose disk was lost, and when.
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

    /// The text that a message was sent with, or that its edit of this number gives it: no two are
    /// the same, so that a text tells where it comes from.
    static func text(of message: Int, edit: Int? = nil) -> String {
        let text = edit.map { "edit \($0) of message \(message)" } ?? "text of message \(message)"
        return text + " ............................................................"
    }

    // MARK: What is asked for

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
            messages[request.target].seats[seat(of: request)].onAttempt(
                isDeletion: request.kind == .hide, at: disk(of: node),
                isRepeat: request.attempts > 1)
        case .turn(let thing, let isOn):
            change(thing, of: request) { $0.onAttempt(isOn) }
        }
    }

    /// Nothing else is asked about the participant state until this has its reply.
    mutating func onBegin(_ request: ChaosRequest) {
        guard request.kind == .hide || request.kind == .restore else { return }
        messages[request.target].seats[seat(of: request)].onBegin()
    }

    // MARK: What was answered

    /// - Parameter at: what stood there as `at=`.
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
            messages[message].seats[seat(of: request)].onAcknowledged(
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
        // Who asked an owner in vain may have had it done there, and the refusal from another.
        messages[request.target].seats[seat(of: request)].onRefused(
            isDeletion: request.kind == .hide,
            isSure: request.attempts == 1 && disk(of: node) != nil)
    }

    // MARK: The nodes

    mutating func setOwnDisk(of node: Int, to isOwn: Bool) {
        if isOwn { ownDisks.insert(node) } else { ownDisks.remove(node) }
    }

    /// This node hands everything over and goes.
    mutating func onLeave(of node: Int) {
        ownDisks.remove(node)
        for index in messages.indices {
            messages[index].forget(node)
            for seat in messages[index].seats.indices {
                messages[index].seats[seat].onLeave(of: node)
            }
        }
    }

    /// What only the lost disk held is not asked for in the end.
    mutating func onWipe(of node: Int) {
        wiped = (node, time)
        for index in messages.indices {
            messages[index].onWipe(of: node)
            messages[index].forget(node)
        }
        for conversation in parts.indices {
            for user in parts[conversation].indices {
                parts[conversation][user].onWipe(of: node)
            }
        }
    }

    /// A reply that is read after a disk was lost may have been written before: what was on one
    /// disk then, and nobody said whose, may be gone.
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

    private func seat(of request: ChaosRequest) -> Int {
        request.user - Self.hiders.lowerBound
    }

    private func disk(of node: Int) -> Int? { ownDisks.contains(node) ? node : nil }

    /// Whether this node answers from a disk on which the message is.
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

    // MARK: What each user does where

    /// What a user does with a conversation: some do nothing or one thing, so that it is known in
    /// the end, and some both, so that they meet.
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
