/// The keys of a view's rows and the types of their values, for the descriptions of the API.
public struct ViewDescription: Sendable {
    public enum ValueType: String, Sendable {
        case text
        /// A name (see `Name`).
        case name
        /// RFC 3339, UTC, with milliseconds.
        case time
        case number
        case flag
        /// Names.
        case list
        /// The replicas that have stored something, of those that own it.
        case copies
    }

    public struct Key: Sendable {
        public let name: String
        public let type: ValueType
        /// Whether each row has it.
        public let isRequired: Bool
    }

    /// The first word of the row's line.
    public let noun: String
    /// In the order of the row.
    public let keys: [Key]

    public init(_ noun: String, _ keys: [Key]) {
        self.noun = noun
        self.keys = keys
    }

    public init<Subject>(_ view: View<Subject>) {
        self.init(view.noun.description, view.fields.map(Key.init))
    }

    /// The description with keys behind those of its own, all of which may be missing; a key that
    /// is there stays as it is.
    public func including(_ more: [Key]...) -> ViewDescription {
        var found = Set(keys.map(\.name))
        let added = more.joined().filter { found.insert($0.name).inserted }
        return ViewDescription(
            noun, keys + added.map { Key(name: $0.name, type: $0.type, isRequired: false) })
    }

    public static func keys<Subject>(_ fields: [Field<Subject>]) -> [Key] { fields.map(Key.init) }
}

extension ViewDescription.Key {
    public init<Subject>(_ field: Field<Subject>) {
        name = field.key.description
        isRequired = field.isRequired
        type =
            switch field.getter {
            case .text, .sequence: .text
            case .name: .name
            case .time: .time
            case .number: .number
            case .flag, .toggle: .flag
            case .users, .names: .list
            case .copies: .copies
            }
    }
}

extension ViewDescription {
    /// The row of the page of the protocol: the line, and its keys with the types of their values;
    /// those in brackets may be missing.
    public var lineRow: String {
        let pairs = keys.map { key in
            let pair = "\(key.name)=<\(key.type)>"
            return key.isRequired ? pair : "[\(pair)]"
        }
        return "| `\(noun)` | `\(pairs.joined(separator: " "))` |"
    }

    /// The row of the page of the API: the object, and its members with the types of their values;
    /// those with a question mark may be missing.
    public var objectRow: String {
        let members = keys.map { "\($0.name)\($0.isRequired ? "" : "?"): \($0.type)" }
        return "| \(noun.lowercased()) | `\(members.joined(separator: ", "))` |"
    }
}
