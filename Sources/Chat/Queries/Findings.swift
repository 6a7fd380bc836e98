import CRDT
import Wire

/// The result of a query: its encoding between nodes, the merging of parts from several shards, and
/// the rows that show the result.
public protocol Findings: Hashable, Sendable {
    /// The bytes that identify the type between nodes: one byte for each form of the findings.
    static var codes: [UInt8] { get }
    /// The byte of `codes` that identifies the form of these findings.
    var code: UInt8 { get }
    /// Writes the content of the findings, which follows the code.
    func encodeContent(into writer: inout ByteWriter)
    /// Reads the findings' content, which follows the code; all counts and lengths are bounded.
    static func decode(code: UInt8, from reader: inout ByteReader) throws(WireError) -> Self

    /// Splits the findings into parts; the parts appended in order give the findings again.
    ///
    /// - Parameter bytesMax: the approximate limit of a part; a larger element is a separate part.
    func split(bytesMax: Int) -> [Self]
    /// Appends the next part to the findings.
    ///
    /// - Returns: false if findings of this type always have one part only.
    mutating func append(_ part: Self) -> Bool
    /// The findings of several shards or nodes merged into one list, sorted and without duplicates.
    var gathered: Self { get }
    /// The approximate encoded size of a list over several shards, in bytes; 0 for other findings.
    var roughBytes: Int { get }

    /// Returns a page of a list, and the cursor of the next page; nil if no element was left out.
    func page(_ page: ListPage) -> (findings: AnyFindings, next: String?)
    /// The views of the rows that show the findings.
    static var views: [ViewDescription] { get }
    /// The sum of all counts in the findings; nil for findings that are no counts.
    var total: Int? { get }
    /// Whether the last of the rows that `writeRows` writes is the status of the response.
    static var hasStatus: Bool { get }
    /// Writes the rows that show the findings; findings that only nodes request have no rows.
    ///
    /// - Parameter namesMax: the most participants named for a conversation; nil for all
    ///   participants.
    func writeRows(to writer: inout some RowWriter, naming namesMax: Int?)
    /// The approximate size of the rows in bytes; 0 for small findings.
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

/// An element of a list that a query can find.
public protocol Finding: WireValue, Hashable, Sendable {
    /// The bytes that identify a list of such elements between nodes.
    static var codes: [UInt8] { get }
    static func code(of list: [Self]) -> UInt8
    /// Those of `codes` with which the times of last changes follow the list, one entry each.
    static var exactCodes: [UInt8] { get }
    /// The times at which values of the element last changed; nil where no client requested them.
    var lastChanges: LastChanges? { get set }
    /// Reads a list of such elements.
    static func decode(code: UInt8, from reader: inout ByteReader) throws(WireError) -> [Self]
    /// Returns the elements that several shards or nodes found, sorted and without duplicates.
    static func gathered(_ list: [Self]) -> [Self]
    static func page(_ list: [Self], _ page: ListPage) -> (list: [Self], next: String?)
    static func total(of list: [Self]) -> Int?

    /// The view of the elements; nil for elements that only nodes request.
    static var view: View<Self>? { get }
    static var views: [ViewDescription] { get }
    static func writeRows(of list: [Self], to writer: inout some RowWriter, naming namesMax: Int?)
    /// The approximate encoded size of the element, in bytes; 0 for elements of lists of one shard.
    var roughBytes: Int { get }
    /// The approximate size of the rows in bytes; 0 for a small list.
    static func rowBytes(of list: [Self]) -> Int
}

extension Finding {
    public static func code(of list: [Self]) -> UInt8 {
        list.hasLastChanges ? exactCodes[0] : codes[0]
    }

    public static var exactCodes: [UInt8] { [] }
    public var lastChanges: LastChanges? {
        get { nil }
        set {}
    }

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

extension Array where Element: Finding {
    /// Whether the elements have the times of their last changes.
    var hasLastChanges: Bool { contains { $0.lastChanges != nil } }
}

extension Array: Findings where Element: Finding {
    public static var codes: [UInt8] { Element.codes }
    public var code: UInt8 { Element.code(of: self) }

    public func encodeContent(into writer: inout ByteWriter) {
        encode(into: &writer)
        guard Element.exactCodes.contains(code) else { return }
        for element in self { (element.lastChanges ?? LastChanges()).encode(into: &writer) }
    }

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> [Element] {
        var list = try Element.decode(code: code, from: &reader)
        guard Element.exactCodes.contains(code) else { return list }
        guard !list.isEmpty else { throw .invalid("elements with the times of their changes") }
        for index in list.indices { list[index].lastChanges = try LastChanges(from: &reader) }
        return list
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
