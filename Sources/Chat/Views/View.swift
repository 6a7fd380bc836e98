import CRDT
import Wire

/// A field of a row: its key, the type of its value, and the getter that reads the value.
///
/// Lines, JSON and the descriptions of both forms are made from the same fields.
public struct Field<Subject>: Sendable {
    /// The getters, one case for each type of value.
    public enum Getter: Sendable {
        case text(@Sendable (Subject) -> String?)
        /// A name: text of the characters that `Name` allows.
        case name(@Sendable (Subject) -> String?)
        /// A time in milliseconds since 1970, UTC.
        case time(@Sendable (Subject) -> Int64?)
        /// A time of the cluster's clocks; if exact, with the counter within the millisecond.
        case moment(@Sendable (Subject) -> HybridTimestamp?)
        case number(@Sendable (Subject) -> UInt64?)
        /// A number shown as 16 hexadecimal digits, which sort as text as the numbers do.
        case sequence(@Sendable (Subject) -> UInt64?)
        /// A flag that a row shows only if the flag is true.
        case flag(@Sendable (Subject) -> Bool)
        /// A flag that a row also shows if the flag is false.
        case toggle(@Sendable (Subject) -> Bool?)
        /// A list of users that a row shows only if the list is not empty.
        case users(@Sendable (Subject) -> [UserID])
        /// A list of names of any kind that a row shows only if the list is not empty.
        case names(@Sendable (Subject) -> [String])
        /// The number of owners that have stored a write, and the number of all owners.
        case copies(@Sendable (Subject) -> (on: Int, owners: Int)?)
    }

    public let key: StaticString
    public let getter: Getter
    /// Whether each row has this field.
    public let isRequired: Bool
    /// Whether a row has this field only if the client has requested exact times.
    public let isExactOnly: Bool

    private init(
        _ key: StaticString, _ getter: Getter, isRequired: Bool, isExactOnly: Bool = false
    ) {
        self.key = key
        self.getter = getter
        self.isRequired = isRequired
        self.isExactOnly = isExactOnly
    }
}

extension Field {
    public static func text(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> String)
        -> Field
    {
        Field(key, .text(get), isRequired: true)
    }

    public static func text(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> String?)
        -> Field
    {
        Field(key, .text(get), isRequired: false)
    }

    public static func name(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> String)
        -> Field
    {
        Field(key, .name(get), isRequired: true)
    }

    public static func name(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> String?)
        -> Field
    {
        Field(key, .name(get), isRequired: false)
    }

    public static func time(
        _ key: StaticString, _ get: @escaping @Sendable (Subject) -> HybridTimestamp
    ) -> Field {
        Field(key, .moment { get($0) }, isRequired: true)
    }

    public static func time(
        _ key: StaticString, _ get: @escaping @Sendable (Subject) -> HybridTimestamp?
    ) -> Field {
        Field(key, .moment(get), isRequired: false)
    }

    /// Returns a field that shows when a value last changed, for clients that merge values by time.
    public static func change(
        _ key: StaticString, _ get: @escaping @Sendable (Subject) -> HybridTimestamp?
    ) -> Field {
        Field(key, .moment(get), isRequired: false, isExactOnly: true)
    }

    public static func due(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> DueTime?)
        -> Field
    {
        Field(key, .time { get($0)?.milliseconds }, isRequired: false)
    }

    public static func number(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> UInt64)
        -> Field
    {
        Field(key, .number(get), isRequired: true)
    }

    public static func number(
        _ key: StaticString, _ get: @escaping @Sendable (Subject) -> UInt64?
    ) -> Field {
        Field(key, .number(get), isRequired: false)
    }

    public static func count(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> Int)
        -> Field
    {
        Field(key, .number { UInt64(clamping: get($0)) }, isRequired: true)
    }

    public static func count(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> Int?)
        -> Field
    {
        Field(key, .number { get($0).map { UInt64(clamping: $0) } }, isRequired: false)
    }

    public static func sequence(
        _ key: StaticString, _ get: @escaping @Sendable (Subject) -> UInt64?
    ) -> Field {
        Field(key, .sequence(get), isRequired: true)
    }

    public static func flag(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> Bool)
        -> Field
    {
        Field(key, .flag(get), isRequired: false)
    }

    public static func toggle(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> Bool?)
        -> Field
    {
        Field(key, .toggle(get), isRequired: false)
    }

    public static func users(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> [UserID])
        -> Field
    {
        Field(key, .users(get), isRequired: false)
    }

    public static func names(_ key: StaticString, _ get: @escaping @Sendable (Subject) -> [String])
        -> Field
    {
        Field(key, .names(get), isRequired: false)
    }

    public static func copies(
        _ key: StaticString, _ get: @escaping @Sendable (Subject) -> (on: Int, owners: Int)?
    ) -> Field {
        Field(key, .copies(get), isRequired: false)
    }
}

extension HybridTimestamp {
    /// The time in the form for responses: milliseconds since 1970.
    public var lineTime: Int64 { Int64(milliseconds) }
}

/// The fields of one kind of row, in the order in which a row shows them.
public struct View<Subject>: Sendable {
    /// The first word of the row's line, in capitals; `OK` for the view of a status.
    public let noun: StaticString
    public let fields: [Field<Subject>]

    public init(_ noun: StaticString, _ fields: [Field<Subject>]) {
        self.noun = noun
        self.fields = fields
    }
}

/// A writer of the fields of one row in one format.
public protocol ViewWriter {
    /// Whether times show the counter within the millisecond, and fields the times of their last
    /// changes.
    var isExact: Bool { get }
    mutating func write<Subject>(_ subject: Subject, _ fields: [Field<Subject>])
}

/// A writer of rows in one format, such as lines or JSON.
public protocol RowWriter {
    associatedtype Fields: ViewWriter

    /// Whether the rows that follow show exact times.
    var isExact: Bool { get set }
    mutating func row(_ noun: StaticString, _ body: (inout Fields) -> Void)
    /// Whether the written rows exceed the limit of a response, so that the response is an error.
    var isTooLong: Bool { get }
}

extension RowWriter {
    @inlinable
    public mutating func row<Subject>(_ subject: Subject, as view: View<Subject>) {
        row(view.noun) { $0.write(subject, view.fields) }
    }

    @inlinable
    public mutating func rows<Subject>(_ subjects: some Sequence<Subject>, as view: View<Subject>) {
        for subject in subjects where !isTooLong { row(subject, as: view) }
    }
}
