import CRDT
import Wire

/// The result of a query: its bytes between nodes, how parts of several shards become one, and the
/// rows with which it is shown.
public protocol Findings: Hashable, Sendable {
    /// The bytes that stand for the type between nodes: one, or one for each form.
    static var codes: [UInt8] { get }
    /// The one of `codes` with which these findings are written.
    var code: UInt8 { get }
    /// Writes what follows the code.
    func encodeContent(into writer: inout ByteWriter)
    /// Reads what follows the code; all counts and lengths are bounded.
    static func decode(code: UInt8, from reader: inout ByteReader) throws(WireError) -> Self

    /// Splits the findings into parts; appended in order they are the whole again.
    ///
    /// - Parameter bytesMax: the approximate limit of a part; a larger element is one of its own.
    func split(bytesMax: Int) -> [Self]
    /// Appends the next part.
    ///
    /// - Returns: false if findings of the type have one part only.
    mutating func append(_ part: Self) -> Bool
    /// What several shards or nodes found as one list: in the list's order, each element once.
    var gathered: Self { get }
    /// About what a list over shards has on its way between nodes, in bytes; 0 for other findings.
    var roughBytes: Int { get }

    /// Returns a page of a list, and the position behind which the next one begins; nil where
    /// nothing was left out.
    func page(_ page: ListPage) -> (findings: AnyFindings, next: String?)
    /// The views of the rows.
    static var views: [ViewDescription] { get }
    /// The sum of all counts; nil for findings that are no counts.
    var total: Int? { get }
    /// Whether the last of the rows is the status.
    static var hasStatus: Bool { get }
    /// Writes the rows; none for what only nodes ask for.
    ///
    /// - Parameter namesMax: the most participants that are named of a conversation; nil for all.
    func writeRows(to writer: inout some RowWriter, naming namesMax: Int?)
    /// About as many bytes as its rows have; 0 for few.
    var rowBytes: Int { get }
}

extension Findings {
    public var code: UInt8 { Self.codes[0] }
    public func split(bytesMax: Int) -> [Self] { [self] }
    public mutating func append(_ part: Self) -> Bool { false }
    public var gathered: Self { self }
    public var roughBytes: Int { 0 }
    public func page(_ page: ListPage) -> (findings: AnyFindings, next: String?) {
        (AnyFindings(self), nil)
    }
    public static var views: [ViewDescription] { [] }
    public var total: Int? { nil }
    public static var hasStatus: Bool { false }
    public func writeRows(to writer: inout some RowWriter, naming namesMax: Int?) {}
    public var rowBytes: Int { 0 }
}

extension Findings where Self: WireValue {
    public func encodeContent(into writer: inout ByteWriter) { encode(into: &writer) }

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> Self {
        try Self(from: &reader)
    }
}

/// An element of a list that a query finds.
public protocol Finding: WireValue, Hashable, Sendable {
    /// The bytes that stand for a list of such elements between nodes.
    static var codes: [UInt8] { get }
    static func code(of list: [Self]) -> UInt8
    /// Reads a list.
    static func decode(code: UInt8, from reader: inout ByteReader) throws(WireError) -> [Self]
    /// Returns what several shards or nodes found in the list's order, each element once.
    static func gathered(_ list: [Self]) -> [Self]
    static func page(_ list: [Self], _ page: ListPage) -> (list: [Self], next: String?)
    static func total(of list: [Self]) -> Int?

    /// How the elements are shown; nil for what only nodes ask for.
    static var view: View<Self>? { get }
    static var views: [ViewDescription] { get }
    static func writeRows(of list: [Self], to writer: inout some RowWriter, naming namesMax: Int?)
    /// About what the element has on its way between nodes, in bytes; 0 in lists of one shard.
    var roughBytes: Int { get }
    /// About as many bytes as the rows have; 0 for few.
    static func rowBytes(of list: [Self]) -> Int
}

extension Finding {
    public static func code(of list: [Self]) -> UInt8 { codes[0] }

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> [Self] {
        try reader.readList()
    }

    public static func gathered(_ list: [Self]) -> [Self] { list }
    public static func page(_ list: [Self], _ page: ListPage) -> (list: [Self], next: String?) {
        (list, nil)
    }
    public static func total(of list: [Self]) -> Int? { nil }
    public static var view: View<Self>? { nil }

    public static var views: [ViewDescription] {
        view.map { [ViewDescription($0)] } ?? []
    }

    public static func writeRows(
        of list: [Self], to writer: inout some RowWriter, naming namesMax: Int?
    ) {
        if let view { writer.rows(list, as: view) }
    }

    public var roughBytes: Int { 0 }
    public static func rowBytes(of list: [Self]) -> Int { 0 }
}

extension Array: Findings where Element: Finding {
    public static var codes: [UInt8] { Element.codes }
    public var code: UInt8 { Element.code(of: self) }

    public func encodeContent(into writer: inout ByteWriter) { encode(into: &writer) }

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> [Element] {
        try Element.decode(code: code, from: &reader)
    }

    public func split(bytesMax: Int) -> [[Element]] {
        runs(of: bytesMax) { $0.encoded.count }
    }

    public mutating func append(_ part: [Element]) -> Bool {
        self += part
        return true
    }

    public var gathered: [Element] { Element.gathered(self) }
    public var roughBytes: Int { reduce(0) { $0 + $1.roughBytes } }

    public func page(_ page: ListPage) -> (findings: AnyFindings, next: String?) {
        let (list, next) = page.isPart ? Element.page(self, page) : (self, nil)
        return (AnyFindings(list), next)
    }

    public static var views: [ViewDescription] { Element.views }
    public var total: Int? { Element.total(of: self) }

    public func writeRows(to writer: inout some RowWriter, naming namesMax: Int?) {
        Element.writeRows(of: self, to: &writer, naming: namesMax)
    }

    public var rowBytes: Int { Element.rowBytes(of: self) }
}
