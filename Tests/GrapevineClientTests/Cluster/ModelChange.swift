@testable import GrapevineClient

/// A change that a node of the model has accepted.
struct ModelChange: Equatable {
    enum Kind: String {
        case create
        case leave
        case message
        case edit
        case delete
        case retract
        case restore
        case pin
        case unpin
        case hide
        case archive
        case unarchive
        case read
        case delivered

        /// The kinds of which the later one holds.
        var rivals: Set<Kind>? {
            switch self {
            case .pin, .unpin: [.pin, .unpin]
            case .delete, .restore: [.delete, .restore]
            case .archive, .unarchive: [.archive, .unarchive]
            default: nil
            }
        }

        var isMark: Bool { self == .read || self == .delivered }
    }

    var kind: Kind
    var by: String
    var conversation: String
    var id = ""
    var text = ""
    var file: String?
    var users: [String] = []
    /// The identity and the time of a write.
    var operation: String?
    /// The node that has accepted the change, and its number there.
    var node = 0
    var number = 0
    var at = ExactTime.zero
    /// What a node had when it executed a hiding, which hides that.
    var seen: [Int] = []
}

/// A message as a user sees it, by what a node has.
struct ModelMessage {
    let id: String
    let from: String
    let at: ExactTime
    var text: String
    var file: String?
    var edited: ExactTime?
    var pinnedBy: String?
    var pinnedAt: ExactTime?
    var unpinnedAt: ExactTime?
    var hiddenAt: ExactTime?
    var restoredAt: ExactTime?
    var deletedAt: ExactTime?
    /// Whether the user does not see it, and whether that is since the conversation was hidden.
    var isHidden = false
    var isCleared = false

    mutating func apply(_ change: ModelChange, for user: String) {
        switch change.kind {
        case .edit where deletedAt == nil:
            (text, edited) = (change.text, change.at)
        case .delete where change.by == user: (isHidden, hiddenAt) = (true, change.at)
        case .restore where change.by == user:
            isHidden = deletedAt != nil && from == user
            restoredAt = change.at
        case .pin where deletedAt == nil:
            (pinnedBy, pinnedAt, unpinnedAt) = (change.by, change.at, nil)
        case .unpin: (pinnedBy, pinnedAt, unpinnedAt) = (nil, nil, change.at)
        case .retract:
            (edited, pinnedBy, pinnedAt) = (nil, nil, nil)
            (text, file, deletedAt) = (Message.deletedText, nil, deletedAt ?? change.at)
            if change.by == user { isHidden = true }
        default: break
        }
    }

    /// The members of the message in answers and events, but for its time.
    var json: ModelJSON {
        var json = ModelJSON()
        json["id"] = .text(id)
        json["from"] = .text(from)
        json["type"] = .text("text")
        json["text"] = .text(text)
        json["blob"] = file.map(ModelJSON.Value.text)
        json["edited"] = edited.map(ModelJSON.Value.time)
        json["pinnedBy"] = pinnedBy.map(ModelJSON.Value.text)
        json["pinnedAt"] = pinnedAt.map(ModelJSON.Value.time)
        json["unpinnedAt"] = unpinnedAt.map(ModelJSON.Value.time)
        json["hiddenAt"] = hiddenAt.map(ModelJSON.Value.time)
        json["restoredAt"] = restoredAt.map(ModelJSON.Value.time)
        json["deletedAt"] = deletedAt.map(ModelJSON.Value.time)
        if deletedAt != nil { json["deletedForEveryone"] = .flag(true) }
        return json
    }
}

/// A JSON object with members of few kinds; texts have nothing that is to be escaped but quotes.
struct ModelJSON {
    enum Value {
        case text(String)
        case time(ExactTime)
        case number(Int)
        case flag(Bool)
        case texts([String])
        case object(ModelJSON)
        case objects([ModelJSON])

        var json: String {
            switch self {
            case .text(let text):
                "\""
                    + text.split(separator: "\"", omittingEmptySubsequences: false)
                    .joined(separator: "\\\"") + "\""
            case .time(let time): "\"\(time)\""
            case .number(let number): "\(number)"
            case .flag(let flag): "\(flag)"
            case .texts(let texts):
                "[" + texts.map { Value.text($0).json }.joined(separator: ",") + "]"
            case .object(let object): object.text
            case .objects(let objects): "[" + objects.map(\.text).joined(separator: ",") + "]"
            }
        }
    }

    private var members: [String: Value] = [:]

    init(_ members: [String: Value] = [:]) {
        self.members = members
    }

    subscript(name: String) -> Value? {
        get { members[name] }
        set { members[name] = newValue }
    }

    var text: String {
        let pairs = members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":" + $0.value.json }
        return "{" + pairs.joined(separator: ",") + "}"
    }
}
