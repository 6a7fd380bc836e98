import CRDT
import Wire

/// A query of any type, with the senders whose messages the answer leaves out.
///
/// A class although its instances are immutable: a request is an enum with a query as one case, and
/// each write copies such an enum, so a query must be small.
public final class AnyQuery: Sendable {
    public let base: any Query
    public let senders: BlockedSenders
    /// Whether the answer shows when each value has last changed.
    public let isExact: Bool

    /// The code before a query whose answer leaves out senders; the senders and the query follow.
    static let codeOfFiltered: UInt8 = 39
    /// The code before a query whose answer shows the times of last changes; the query follows.
    static let codeOfExact: UInt8 = 47

    public init(
        _ base: any Query, without senders: BlockedSenders = .none, isExact: Bool = false
    ) {
        self.base = base
        self.senders = senders
        self.isExact = isExact
    }

    /// The same query with an answer that shows when each value has last changed.
    public var exact: AnyQuery { AnyQuery(base, without: senders, isExact: true) }

    /// Returns the query with an answer that leaves out the messages of `senders`.
    public func filtered(by senders: BlockedSenders) -> AnyQuery {
        AnyQuery(base, without: senders, isExact: isExact)
    }

    public var partition: String? { base.partition }
    public var bytesMax: Int? { base.bytesMax }
    public var showsMessages: Bool { senders.isEmpty && type(of: base).showsMessages }
    public var isForOperators: Bool { !senders.isEmpty || type(of: base).isForOperators }
    /// The findings in a shard that never had a document of the user's; nil for a query that may
    /// find something in such a shard.
    public var nothing: AnyFindings? { type(of: base).anyNothing }

    /// Returns the query with a limit in bytes for a page of a history; nil for another query.
    public func ending(after bytes: Int) -> AnyQuery? {
        base.ending(after: bytes).map { AnyQuery($0, without: senders, isExact: isExact) }
    }

    /// Whether the findings have the type of this query's answer.
    public func isAnswered(by findings: AnyFindings) -> Bool {
        type(of: base).isAnswered(by: findings)
    }

    /// Returns those of `count` shards that may contain a part of the user's list.
    public func shards(of count: UInt16) -> [ShardID] {
        guard let users = base.users else { return (0..<count).map { ShardID($0) } }
        return Set(users.map { ShardID(of: $0.text, count: count) }).sorted()
    }
}

extension Query {
    static var anyNothing: AnyFindings? { nothing.map { AnyFindings($0) } }

    static func isAnswered(by findings: AnyFindings) -> Bool {
        findings.value(as: Answer.self) != nil
    }

    func isEqual(to other: any Query) -> Bool { other as? Self == self }
}

extension AnyQuery: Hashable {
    public static func == (left: AnyQuery, right: AnyQuery) -> Bool {
        left.senders == right.senders && left.isExact == right.isExact
            && left.base.isEqual(to: right.base)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(senders)
        hasher.combine(isExact)
        base.hash(into: &hasher)
    }
}

extension AnyQuery: WireValue {
    public func encode(into writer: inout ByteWriter) {
        if isExact { writer.write(AnyQuery.codeOfExact) }
        if !senders.isEmpty {
            writer.write(AnyQuery.codeOfFiltered)
            senders.encode(into: &writer)
        }
        writer.write(base.code)
        base.encode(into: &writer)
    }

    public convenience init(from reader: inout ByteReader) throws(WireError) {
        var code = try reader.readByte()
        let isExact = code == AnyQuery.codeOfExact
        if isExact { code = try reader.readByte() }
        var senders = BlockedSenders.none
        if code == AnyQuery.codeOfFiltered {
            senders = try BlockedSenders(from: &reader)
            guard !senders.isEmpty else { throw .invalid("senders to be left out") }
            code = try reader.readByte()
        }
        guard let type = QueryTable.queries[code] else { throw .unknown }
        guard senders.isEmpty || type.showsMessages else {
            throw .invalid("a query that shows messages")
        }
        self.init(
            try type.init(code: code, from: &reader), without: senders, isExact: isExact)
    }
}

/// The types of queries and findings, by the bytes that identify the types between nodes.
enum QueryTable {
    private static let types: [any Query.Type] =
        ofConversations + ofMessages + ofUsers + ofDevices + ofAccounts + ofFiles

    static let queries: [UInt8: any Query.Type] = table(types) { $0.codes }

    static let findings: [UInt8: any Findings.Type] = table(
        types.map { $0.answer } + [[NotificationView].self, [BlockView].self]
    ) { $0.codes }

    /// The views of the rows that queries find.
    static let views: [ViewDescription] = types.flatMap { $0.answer.views }

    private static func table<Type>(_ types: [Type], _ codes: (Type) -> [UInt8]) -> [UInt8: Type] {
        let pairs = types.flatMap { type in codes(type).map { ($0, type) } }
        return Dictionary(pairs) { first, _ in first }
    }
}

extension Query {
    static var answer: any Findings.Type { Answer.self }
}

extension ViewDescription {
    /// The views of the rows that queries find; some views occur several times.
    public static let ofQueries = QueryTable.views
}
