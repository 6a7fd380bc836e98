/// Something about a message that a client is told is done.
enum ClusterFact: Hashable {
    case sent
    case edited(String)
    case hidden(from: String)
    case retracted
}

/// A message as its sender and those who change it know it.
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
    /// When it was first asked for, and first acknowledged; in microseconds.
    var askedAt: UInt64?
    var answeredAt: UInt64?
    /// How often it was sent, and how many of these were answered by a refusal.
    var attempts = 0
    var refusals = 0
    /// Every text that somebody tried to give it.
    var edits: Set<String> = []
    /// Whether the sender tried to delete it for everyone.
    var isRetractionAsked = false
    /// Who tried to delete it for themselves, and who tried to have it back.
    var hidesAsked: Set<String> = []
    var restoresAsked: Set<String> = []
    /// Who tried to pin it, and to say that they have read up to it; and whether anybody tried to
    /// unpin it.
    var pinsAsked: Set<String> = []
    var isUnpinAsked = false
    var readsAsked: Set<String> = []
    /// What was acknowledged, in order, and on how many disks at least it then was and still is, if
    /// nothing was done about those that were lost.
    private(set) var acknowledged: [(fact: ClusterFact, copies: Int)] = []

    /// Whether a node may have it.
    var mayExist: Bool { attempts > refusals }

    /// Whether it was sent once, and nobody asked to change it.
    var isPlain: Bool {
        attempts == 1 && edits.isEmpty && !mayShowDeleted && restoresAsked.isEmpty
            && pinsAsked.isEmpty && !isUnpinAsked
    }

    /// Whether it may show as deleted for everyone.
    var mayShowDeleted: Bool { isRetractionAsked || !hidesAsked.isEmpty }

    func isAcknowledged(_ fact: ClusterFact) -> Bool { acknowledged.contains { $0.fact == fact } }

    var acknowledgedEdits: [String] {
        acknowledged.compactMap { if case .edited(let text) = $0.fact { text } else { nil } }
    }

    init(name: Name, sender: String, text: String) {
        self.name = name
        self.sender = sender
        self.text = text
    }

    /// Somebody was told that it is done, and on so many disks.
    mutating func acknowledge(_ fact: ClusterFact, copies: Int) {
        if let index = acknowledged.firstIndex(where: { $0.fact == fact }) {
            acknowledged[index].copies = max(acknowledged[index].copies, copies)
        } else {
            acknowledged.append((fact, copies))
        }
    }

    /// No more than so many disks hold it by right.
    mutating func cap(copies: Int) {
        for index in acknowledged.indices {
            acknowledged[index].copies = min(acknowledged[index].copies, copies)
        }
    }

    /// A disk is lost that held some of what was acknowledged.
    ///
    /// - Returns: what may be missing from here on, and what should be somewhere and is not.
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

/// What clients asked for, and what became of it.
struct ClusterBook {
    /// In the order in which they were first sent.
    private(set) var names: [ClusterMessage.Name] = []
    private(set) var messages: [String: ClusterMessage] = [:]
    /// Edits asked for.
    private(set) var edits = 0
    /// What each user was to be called, in order.
    private(set) var profileNames: [String: [String]] = [:]

    /// A name that nobody had.
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
        _ name: ClusterMessage.Name, from sender: String, text: String
    ) -> ClusterMessage.Name {
        names.append(name)
        messages[name.id] = ClusterMessage(name: name, sender: sender, text: text)
        return name
    }

    /// The line that sends a message, for the first time or again.
    mutating func send(_ name: ClusterMessage.Name) -> ClusterRequest {
        messages[name.id]?.attempts += 1
        let (sender, text) = (messages[name.id]?.sender ?? "", messages[name.id]?.text ?? "")
        return ClusterRequest(
            .send(name), "SEND \(name.conversation) \(sender) id=\(name.id) -- \(text)")
    }

    /// The user's messages that were sent and not acknowledged, as far as they are recent.
    func unanswered(of user: String) -> [ClusterMessage.Name] {
        names.suffix(40).filter { name in
            guard let message = messages[name.id] else { return false }
            return message.sender == user && !message.isAcknowledged(.sent)
        }
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

    /// Only its sender can, and so deletes it for themselves too.
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

    /// What a request has done once it is acknowledged.
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

    /// - Parameter copies: on how many disks it is, as far as that was said.
    mutating func acknowledge(_ name: ClusterMessage.Name, _ fact: ClusterFact, copies: Int) {
        messages[name.id]?.acknowledge(fact, copies: copies)
        // Who deletes a message for everyone deletes it for themselves, too.
        if fact == .retracted, let sender = messages[name.id]?.sender {
            messages[name.id]?.acknowledge(.hidden(from: sender), copies: copies)
        }
    }

    mutating func noteRefusal(_ code: Int, of request: ClusterRequest) {
        // A failure of the node's own leaves open what became of it.
        guard case .send(let name) = request.kind, code < 500 else { return }
        messages[name.id]?.refusals += 1
    }

    /// Members are so few that no more disks hold anything.
    mutating func cap(copies: Int) {
        for name in names { messages[name.id]?.cap(copies: copies) }
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
