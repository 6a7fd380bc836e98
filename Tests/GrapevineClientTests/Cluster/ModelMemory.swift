@testable import GrapevineClient

/// What a device's user has done and seen: by it a view is judged.
final class ModelMemory {
    enum Field: String {
        case text
        case pin
        case visible
    }

    struct Key: Hashable {
        let conversation: String
        let message: String
        let field: Field
    }

    /// A value that a user has given a field.
    struct Wish {
        let number: UInt64
        let value: String
        /// Whether the operation makes the message.
        var isMessage = false
        /// Whether nothing undoes the operation.
        var isFinal = false
    }

    let user: String
    private(set) var wishes: [Key: Wish] = [:]
    /// The conversations that the user has created here and not hidden or left, and those left.
    private(set) var created: Set<String> = []
    private(set) var left: Set<String> = []
    /// Messages that were shown as deleted for everyone.
    private var retracted: Set<String> = []
    /// The times of texts that were shown.
    private var texts: [String: ExactTime] = [:]

    init(user: String) {
        self.user = user
    }

    /// Notes what the user has done.
    ///
    /// - Parameter isKnown: whether the device has the message that is restored.
    func note(_ action: Action, _ number: UInt64, isKnown: Bool) {
        switch action {
        case .send(_, _, let draft):
            set(.visible, action, Wish(number: number, value: "yes", isMessage: true))
            set(.text, action, Wish(number: number, value: draft.text, isMessage: true))
        case .edit(_, _, let text): set(.text, action, Wish(number: number, value: text))
        case .delete: set(.visible, action, Wish(number: number, value: "no"))
        case .deleteForEveryone:
            set(.visible, action, Wish(number: number, value: "no", isFinal: true))
        case .restore where isKnown:
            set(.visible, action, Wish(number: number, value: "yes"))
        case .restore: set(.visible, action, nil)
        case .pin: set(.pin, action, Wish(number: number, value: user))
        case .unpin: set(.pin, action, Wish(number: number, value: ""))
        case .create(let conversation, _, _): created.insert(conversation)
        case .leave(let conversation):
            created.remove(conversation)
            left.insert(conversation)
            wishes = wishes.filter { $0.key.conversation != conversation }
        case .hide(let conversation, _):
            created.remove(conversation)
            for (key, wish) in wishes
            where key.conversation == conversation && key.field == .visible
                && wish.value == "yes"
            {
                wishes[key] = nil
            }
        default: break
        }
    }

    private func set(_ field: Field, _ action: Action, _ wish: Wish?) {
        let key = Key(
            conversation: action.conversation ?? "", message: action.message ?? "", field: field)
        if wishes[key]?.isFinal != true { wishes[key] = wish }
    }

    /// Forgets what an operation was to do, since nodes have refused it.
    func forget(_ action: Action, _ number: UInt64) {
        wishes = wishes.filter { $0.value.number != number }
        if case .leave(let conversation) = action { left.remove(conversation) }
        guard case .send(_, let message, _) = action else { return }
        // What needs the message goes with it.
        wishes = wishes.filter { $0.key.message != message }
        texts[message] = nil
    }

    /// Forgets a wish that a later change has overtaken.
    func drop(_ key: Key) { wishes[key] = nil }

    /// Takes in what a view shows.
    ///
    /// - Parameter time: returns the time of a text of a message, if a node has it.
    /// - Returns: what is wrong.
    func see(
        _ messages: [SeenMessage], time: (_ message: String, _ text: String) -> ExactTime?
    ) -> String? {
        for message in messages {
            if message.isRetracted {
                retracted.insert(message.id)
            } else if retracted.contains(message.id) {
                return "The text of \(message.id) is back"
            } else if let time = time(message.id, message.text) {
                if let before = texts[message.id], before > time {
                    return "\(message.id) shows the older text “\(message.text)”"
                }
                texts[message.id] = time
            }
        }
        return nil
    }
}
