/// A message as its sender and those who change it know it.
struct WholeMessage {
    struct Name: Hashable {
        let id: String
        let conversation: String
    }

    let name: Name
    let sender: String
    let text: String
    /// How often it was sent, and how many of these were answered by a refusal.
    var attempts = 0
    var refusals = 0
    var isAcknowledged = false
    /// Every text that somebody tried to give it.
    var edits: Set<String> = []
    var acknowledgedEdits: [String] = []
    /// Whether the sender tried to delete it for everyone, and was told so.
    var isRetractionAsked = false
    var isRetracted = false
    /// Who tried to delete it for themselves, who was told so, and who tried to have it back.
    var hidesAsked: Set<String> = []
    var hides: Set<String> = []
    var restoresAsked: Set<String> = []

    /// Whether a node may have it.
    var mayExist: Bool { attempts > refusals }

    /// Whether it may show as deleted for everyone.
    var mayShowDeleted: Bool { isRetractionAsked || !hidesAsked.isEmpty }
}

/// What clients asked for, and what became of it.
struct WholeBook {
    /// In the order in which they were first sent.
    private(set) var names: [WholeMessage.Name] = []
    private(set) var messages: [String: WholeMessage] = [:]
    /// Edits asked for.
    private(set) var edits = 0
    /// Ids of documents that no disk has as they were any more.
    var lost: Set<String> = []

    mutating func add(
        _ name: WholeMessage.Name, from sender: String, text: String
    ) -> WholeMessage.Name {
        names.append(name)
        messages[name.id] = WholeMessage(name: name, sender: sender, text: text)
        return name
    }

    /// The line that sends a message, for the first time or again.
    mutating func send(_ name: WholeMessage.Name) -> WholeRequest {
        messages[name.id]?.attempts += 1
        let (sender, text) = (messages[name.id]?.sender ?? "", messages[name.id]?.text ?? "")
        return WholeRequest(
            .send(name), "SEND \(name.conversation) \(sender) id=\(name.id) -- \(text)")
    }

    /// The user's messages that were sent and not acknowledged, as far as they are recent.
    func unanswered(of user: String) -> [WholeMessage.Name] {
        names.suffix(40).filter { name in
            guard let message = messages[name.id] else { return false }
            return message.sender == user && !message.isAcknowledged
        }
    }

    mutating func noteEdit(of name: WholeMessage.Name, _ text: String) {
        edits += 1
        messages[name.id]?.edits.insert(text)
    }

    /// Only its sender can, and so deletes it for themselves too.
    mutating func noteRetraction(of name: WholeMessage.Name, by user: String) {
        guard messages[name.id]?.sender == user else { return }
        messages[name.id]?.isRetractionAsked = true
        noteHide(of: name, by: user)
    }

    mutating func noteHide(of name: WholeMessage.Name, by user: String) {
        messages[name.id]?.hidesAsked.insert(user)
    }

    mutating func noteRestore(of name: WholeMessage.Name, by user: String) {
        messages[name.id]?.restoresAsked.insert(user)
    }

    mutating func noteAnswer(_ answer: WholeAnswer, to request: WholeRequest, by user: String) {
        let isDone = answer.code == nil
        switch request.kind {
        case .send(let name):
            if isDone { messages[name.id]?.isAcknowledged = true }
            // A failure of the node's own leaves open what became of it.
            if let code = answer.code, code < 500 { messages[name.id]?.refusals += 1 }
        case .edit(let name, let text) where isDone:
            messages[name.id]?.acknowledgedEdits.append(text)
        case .retract(let name) where isDone:
            messages[name.id]?.isRetracted = true
            messages[name.id]?.hides.insert(user)
        case .hide(let name) where isDone:
            messages[name.id]?.hides.insert(user)
        default: break
        }
    }
}
