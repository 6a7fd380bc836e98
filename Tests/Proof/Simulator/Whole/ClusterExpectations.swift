/// A fact about a message that an acknowledgement states.
enum ClusterFact: Hashable {
    case sent
    case edited(String)
    case hidden(from: String)
    case retracted
}

/// The expectations of one message: what was requested of it, and what was acknowledged.
struct ClusterMessage {
    struct Name: Hashable, Comparable {
        let id: String
        let conversation: String

        static func < (left: Name, right: Name) -> Bool {
            (left.conversation, left.id) < (right.conversation, right.id)
        }
    }

    let name: Name
    let sender: String
    let text: String
    /// The id of the file that it is sent with.
    let file: String?
    /// Other files that it was to be sent with, under the same id.
    var otherFiles: [String] = []
    /// The times of the first request to send it and of the first acknowledgement, in microseconds.
    var askedAt: UInt64?
    var answeredAt: UInt64?
    /// The numbers of requests to send it, and of those among them that were refused.
    var attempts = 0
    var refusals = 0
    /// The texts of all requested edits.
    var edits: Set<String> = []
    /// Whether the sender requested to delete it for everyone.
    var isRetractionAsked = false
    /// The users who requested to delete it for themselves, and those who requested to restore it.
    var hidesAsked: Set<String> = []
    var restoresAsked: Set<String> = []
    /// The users who requested to pin it, whether any user requested to unpin it, and the users who
    /// requested a read mark at it.
    var pinsAsked: Set<String> = []
    var isUnpinAsked = false
    var readsAsked: Set<String> = []
    /// Those of whose marks the answers have come.
    var readsAnswered: Set<String> = []
    /// The acknowledged facts, in order, each with the least number of disks that had it then and
    /// still have it; replicas that were repaired after a loss do not count.
    private(set) var acknowledged: [(fact: ClusterFact, copies: Int)] = []

    /// Whether a node may have the message.
    var mayExist: Bool { attempts > refusals }

    /// Whether it was sent once, and no change of it was requested.
    var isPlain: Bool {
        attempts == 1 && edits.isEmpty && !mayShowDeleted && restoresAsked.isEmpty
            && pinsAsked.isEmpty && !isUnpinAsked
    }

    /// Whether the message may be shown as deleted for everyone.
    var mayShowDeleted: Bool { isRetractionAsked || !hidesAsked.isEmpty }

    func isAcknowledged(_ fact: ClusterFact) -> Bool { acknowledged.contains { $0.fact == fact } }

    /// Whether the message was sent, and no other file was to be sent with it: which of several it
    /// has been sent with is not known.
    var isSentWithOneFile: Bool { isAcknowledged(.sent) && otherFiles.isEmpty }

    var acknowledgedEdits: [String] {
        acknowledged.compactMap { if case .edited(let text) = $0.fact { text } else { nil } }
    }

    init(name: Name, sender: String, text: String, file: String? = nil) {
        self.name = name
        self.sender = sender
        self.text = text
        self.file = file
    }

    /// Records that a fact was acknowledged as being on a number of disks.
    mutating func acknowledge(_ fact: ClusterFact, copies: Int) {
        if let index = acknowledged.firstIndex(where: { $0.fact == fact }) {
            acknowledged[index].copies = max(acknowledged[index].copies, copies)
        } else {
            acknowledged.append((fact, copies))
        }
    }

    /// Lowers, for each fact, the number of disks that must have it to at most `copies`.
    mutating func cap(copies: Int) {
        for index in acknowledged.indices {
            acknowledged[index].copies = min(acknowledged[index].copies, copies)
        }
    }

    /// Records the loss of a disk that held acknowledged facts.
    ///
    /// - Returns: the facts that may be missing from now on, and those that should be on another
    ///   disk and are not.
    mutating func lose(
        _ isHeld: (ClusterFact) -> Bool, isElsewhere: (ClusterFact) -> Bool
    ) -> (forgiven: [ClusterFact], broken: [ClusterFact]) {
        var (forgiven, broken): ([ClusterFact], [ClusterFact]) = ([], [])
        for index in acknowledged.indices where isHeld(acknowledged[index].fact) {
            acknowledged[index].copies -= 1
            let (fact, copies) = acknowledged[index]
            guard !isElsewhere(fact) else { continue }
            if copies > 0 { broken.append(fact) } else { forgiven.append(fact) }
        }
        acknowledged.removeAll { forgiven.contains($0.fact) }
        return (forgiven, broken)
    }
}

/// The record of the clients' requests and their outcomes.
struct ClusterExpectations {
    /// The messages, in the order in which they were first sent.
    private(set) var names: [ClusterMessage.Name] = []
    private(set) var messages: [String: ClusterMessage] = [:]
    /// The time of the first request to create each conversation, in microseconds.
    private(set) var creationsAskedAt: [String: UInt64] = [:]
    /// The number of requested edits.
    private(set) var edits = 0
    /// The names that each user's profile was to get, in order.
    private(set) var profileNames: [String: [String]] = [:]

    /// Returns a name that no user had before.
    mutating func nameProfile(of user: String) -> String {
        let names = profileNames[user, default: []]
        let name = "\(user).\(names.count + 1)"
        profileNames[user] = names + [name]
        return name
    }

    func isProfileName(_ name: String, of user: String) -> Bool {
        profileNames[user]?.contains(name) ?? false
    }

    mutating func add(
        _ name: ClusterMessage.Name, from sender: String, text: String, with file: String? = nil
    ) -> ClusterMessage.Name {
        names.append(name)
        messages[name.id] = ClusterMessage(name: name, sender: sender, text: text, file: file)
        return name
    }

    /// Returns the request that sends a message, for the first time or again.
    ///
    /// - Parameter other: another file than the message was sent with before.
    mutating func send(
        _ name: ClusterMessage.Name, with other: String? = nil
    ) -> ClusterRequest {
        messages[name.id]?.attempts += 1
        if let other { messages[name.id]?.otherFiles.append(other) }
        let message = messages[name.id]
        let (sender, text) = (message?.sender ?? "", message?.text ?? "")
        let blob = (other ?? message?.file).map { " type=image blob=\($0)" } ?? ""
        return ClusterRequest(
            .send(name), "SEND \(name.conversation) \(sender) id=\(name.id)\(blob) -- \(text)",
            hasFile: message?.file != nil)
    }

    /// Returns the user's messages among the last 40 whose sending was not acknowledged.
    func unanswered(of user: String) -> [ClusterMessage.Name] {
        names.suffix(40).filter { name in
            guard let message = messages[name.id] else { return false }
            return message.sender == user && !message.isAcknowledged(.sent)
        }
    }

    mutating func noteCreationAsked(of conversation: String, at now: UInt64) {
        creationsAskedAt[conversation] = creationsAskedAt[conversation] ?? now
    }

    mutating func noteAsked(_ name: ClusterMessage.Name, at now: UInt64) {
        guard messages[name.id]?.askedAt == nil else { return }
        messages[name.id]?.askedAt = now
    }

    mutating func noteAnswered(_ name: ClusterMessage.Name, at now: UInt64) {
        guard messages[name.id]?.answeredAt == nil else { return }
        messages[name.id]?.answeredAt = now
    }

    mutating func noteEdit(of name: ClusterMessage.Name, _ text: String) {
        edits += 1
        messages[name.id]?.edits.insert(text)
    }

    /// Only the sender can delete a message for everyone, and so deletes it for themselves too.
    mutating func noteRetraction(of name: ClusterMessage.Name, by user: String) {
        guard messages[name.id]?.sender == user else { return }
        messages[name.id]?.isRetractionAsked = true
        noteHide(of: name, by: user)
    }

    mutating func noteHide(of name: ClusterMessage.Name, by user: String) {
        messages[name.id]?.hidesAsked.insert(user)
    }

    mutating func noteRestore(of name: ClusterMessage.Name, by user: String) {
        messages[name.id]?.restoresAsked.insert(user)
    }

    mutating func notePin(of name: ClusterMessage.Name, by user: String, isOn: Bool) {
        if isOn {
            messages[name.id]?.pinsAsked.insert(user)
        } else {
            messages[name.id]?.isUnpinAsked = true
        }
    }

    mutating func noteRead(of name: ClusterMessage.Name, by user: String) {
        messages[name.id]?.readsAsked.insert(user)
    }

    mutating func noteMarked(_ name: ClusterMessage.Name, by user: String) {
        messages[name.id]?.readsAnswered.insert(user)
    }

    /// Returns the fact that an acknowledgement of the request states; nil if it states none.
    static func fact(of request: ClusterRequest, by user: String) -> (
        ClusterMessage.Name, ClusterFact
    )? {
        switch request.kind {
        case .send(let name): (name, .sent)
        case .edit(let name, let text): (name, .edited(text))
        case .retract(let name): (name, .retracted)
        case .hide(let name): (name, .hidden(from: user))
        default: nil
        }
    }

    /// - Parameter copies: the number of disks that have the fact, as far as the answer states it.
    mutating func acknowledge(_ name: ClusterMessage.Name, _ fact: ClusterFact, copies: Int) {
        messages[name.id]?.acknowledge(fact, copies: copies)
        // A message that its sender deletes for everyone is deleted for the sender, too.
        if fact == .retracted, let sender = messages[name.id]?.sender {
            messages[name.id]?.acknowledge(.hidden(from: sender), copies: copies)
        }
    }

    mutating func noteRefusal(_ code: Int, of request: ClusterRequest) {
        // After a failure of the node's own, the outcome is unknown.
        guard case .send(let name) = request.kind, code < 500 else { return }
        messages[name.id]?.refusals += 1
    }

    /// Lowers, for each fact of some messages, the number of disks that must have it, since their
    /// shards were handed over to few members.
    mutating func cap(copies: Int, of isMeant: (ClusterMessage.Name) -> Bool) {
        for name in names where isMeant(name) { messages[name.id]?.cap(copies: copies) }
    }

    mutating func lose(
        _ id: String, _ isHeld: (ClusterMessage, ClusterFact) -> Bool,
        isElsewhere: (ClusterMessage, ClusterFact) -> Bool
    ) -> (forgiven: [ClusterFact], broken: [ClusterFact]) {
        guard var message = messages[id] else { return ([], []) }
        let known = message
        defer { messages[id] = message }
        return message.lose({ isHeld(known, $0) }, isElsewhere: { isElsewhere(known, $0) })
    }
}
