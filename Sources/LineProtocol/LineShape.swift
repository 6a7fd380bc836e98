/// The keys of a kind of data line, or of status lines, and the types of their values.
///
/// The lines themselves carry no types: a reader that hands values on, as JSON for example, takes
/// them from here.
public struct LineShape: Sendable {
    public enum ValueType: Sendable {
        case text
        /// A name (see `Name`).
        case name
        /// RFC 3339, UTC, with milliseconds.
        case time
        case number
        /// Left out where it is false, apart from `on`.
        case flag
        /// Names, sorted, with commas between them.
        case set
        /// The replicas that have stored something, of those that own it: `2/3`.
        case copies
    }

    public struct Key: Sendable {
        public let name: String
        public let type: ValueType
        /// Whether each line has it.
        public let isRequired: Bool
    }

    /// The first word of the line.
    public let noun: String
    /// In the order of the line.
    public let keys: [Key]
    /// The UTF-8 of the keys' names.
    private let names: [[UInt8]]

    /// - Parameter keys: the types, each with the names of its keys; the names of those that may be
    ///   missing end with a question mark.
    init(_ noun: String, _ keys: KeyValuePairs<ValueType, String>) {
        self.init(
            noun,
            keys.flatMap { type, names in
                names.split(separator: " ").map {
                    Key(
                        name: String($0.last == "?" ? $0.dropLast() : $0), type: type,
                        isRequired: $0.last != "?")
                }
            })
    }

    private init(_ noun: String, _ keys: [Key]) {
        self.noun = noun
        self.keys = keys
        names = keys.map { Array($0.name.utf8) }
    }

    /// Returns the type of a key's value; nil for a key that lines of this kind do not have.
    public func type(of key: UnsafeRawBufferPointer) -> ValueType? {
        for (index, name) in names.enumerated() where name.count == key.count {
            if zip(name, key).allSatisfy(==) { return keys[index].type }
        }
        return nil
    }

    /// Returns the shape with these of its keys alone.
    public func only(_ names: [String]) -> LineShape {
        LineShape(noun, keys.filter { names.contains($0.name) })
    }

    /// The shape with the keys of others behind its own, all of which may be missing.
    private func including(_ others: LineShape...) -> LineShape {
        var found = Set(keys.map(\.name))
        let more = others.flatMap(\.keys).filter { found.insert($0.name).inserted }
        return LineShape(
            noun, keys + more.map { Key(name: $0.name, type: $0.type, isRequired: false) })
    }
}

/// The kinds of data lines that answer users' requests.
extension LineShape {
    public static let message = LineShape(
        "MESSAGE",
        [
            .name: "id", .text: "seq", .name: "from", .time: "at", .text: "type text",
            .name: "item? blob? preview?", .time: "edited?",
            .name: "pinnedBy?", .time: "pinnedAt?", .flag: "deletedForEveryone?",
            .set: "deletedBy? deliveredTo? readBy?",
        ])
    public static let edit = LineShape("EDIT", [.time: "at", .text: "text"])
    public static let chat = LineShape(
        "CHAT",
        [
            .name: "id", .text: "title?", .number: "unread", .flag: "archived?",
            .set: "participants?", .number: "participantCount?", .name: "createdBy",
            .time: "createdAt",
            .name: "last? lastFrom?", .time: "lastAt?", .text: "lastText", .set: "archivedBy?",
            .flag: "hidden?",
        ])
    public static let unread = LineShape("UNREAD", [.name: "conversation", .number: "count"])
    public static let mark = LineShape(
        "MARK",
        [
            .name: "user read?", .time: "readAt?", .name: "delivered?", .time: "deliveredAt?",
        ])
    public static let profile = LineShape(
        "PROFILE", [.name: "user", .text: "name? email? photo?", .time: "createdAt"])
    public static let action = LineShape(
        "ACTION",
        [
            .name: "id", .flag: "done?", .time: "due?", .text: "priority?", .name: "chat? message?",
            .text: "title",
        ])
    public static let device = LineShape(
        "DEVICE", [.name: "id", .text: "token", .name: "viewing?"])
    public static let block = LineShape("BLOCKED", [.name: "other", .time: "at"])
    public static let notification = LineShape(
        "NOTIFICATION",
        [
            .name: "id", .text: "kind", .name: "conversation message from",
            .text: "fromName? text?", .flag: "pushed?",
        ])
    public static let event = LineShape(
        "EVENT",
        [
            .text: "kind", .name: "conversation? by?", .time: "at", .text: "token? for?",
            .flag: "on? deleted?", .name: "user?", .text: "change?",
        ]
    ).including(
        message, LineShape("", [.flag: "done?"]), action, profile)

    /// The status lines of users' requests that succeed.
    public static let status = LineShape(
        "OK",
        [
            .name: "id?", .time: "at?", .copies: "replicas?", .number: "unread? total?",
            .flag: "partial?", .text: "next? token?",
        ])

    public static let all = [
        message, edit, chat, unread, mark, profile, action, device, block, notification,
        event, status,
    ]
}
