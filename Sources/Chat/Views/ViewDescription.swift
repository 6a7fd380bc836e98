/// The keys of a view's rows and the types of the values, from which the API descriptions are made.
public struct ViewDescription: Sendable {
    public enum ValueType: String, Sendable {
        case text
        /// A name: text of the characters that `Name` allows.
        case name
        /// A time in the form of RFC 3339, in UTC with milliseconds.
        case time
        case number
        case flag
        /// A list of names.
        case list
        /// The number of owners that have stored a write, and the number of all owners.
        case copies
    }

    public struct Key: Sendable {
        public let name: String
        public let type: ValueType
        /// Whether each row has this key.
        public let isRequired: Bool
        /// Whether a row has this key only with exact times.
        public let isExactOnly: Bool
    }

    /// The first word of the row's line.
    public let noun: String
    /// The keys in the order in which a row shows the values.
    public let keys: [Key]

    public init(_ noun: String, _ keys: [Key]) {
        self.noun = noun
        self.keys = keys
    }

    public init<Subject>(_ view: View<Subject>) {
        self.init(view.noun.description, view.fields.map(Key.init))
    }

    /// Returns the description with further keys, which rows may lack; a key that the description
    /// already contains is not added.
    public func including(_ more: [Key]...) -> ViewDescription {
        var found = Set(keys.map(\.name))
        let added = more.joined().filter { found.insert($0.name).inserted }
        let optional = added.map {
            Key(name: $0.name, type: $0.type, isRequired: false, isExactOnly: $0.isExactOnly)
        }
        return ViewDescription(noun, keys + optional)
    }

    public static func keys<Subject>(_ fields: [Field<Subject>]) -> [Key] { fields.map(Key.init) }
}

extension ViewDescription.Key {
    public init<Subject>(_ field: Field<Subject>) {
        name = field.key.description
        isRequired = field.isRequired
        isExactOnly = field.isExactOnly
        type =
            switch field.getter {
            case .text, .sequence: .text
            case .name: .name
            case .time, .moment: .time
            case .number: .number
            case .flag, .toggle: .flag
            case .users, .names: .list
            case .copies: .copies
            }
    }
}

extension ViewDescription {
    /// The row in the protocol's documentation: the word of the line, and its keys with the types
    /// of the values; keys in brackets may be missing, and keys in braces appear with exact times.
    public var lineRow: String {
        let pairs = keys.map { key in
            let pair = "\(key.name)=<\(key.type)>"
            if key.isExactOnly { return "{\(pair)}" }
            return key.isRequired ? pair : "[\(pair)]"
        }
        return "| `\(noun)` | `\(pairs.joined(separator: " "))` |"
    }

    /// The row in the API's documentation: the object, and its members with the types of the
    /// values; members with a question mark may be missing, and members in braces appear with exact
    /// times.
    public var objectRow: String {
        let members = keys.map { key in
            let name = key.isExactOnly ? "{\(key.name)}" : key.name + (key.isRequired ? "" : "?")
            return "\(name): \(key.type)"
        }
        return "| \(noun.lowercased()) | `\(members.joined(separator: ", "))` |"
    }
}
