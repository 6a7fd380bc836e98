import CRDT
import Wire

/// A query of any type, with the senders whose messages its answer leaves out.
///
/// A class, though it is immutable: the enums of requests that have a query as one case are copied
/// for each write, too.
public final class AnyQuery: Sendable {
    public let base: any Query
    public let senders: BlockedSenders

    /// The code of a query that has senders to be left out; theirs and the query's follow.
    private static let codeOfFiltered: UInt8 = 39

    public init(_ base: any Query, without senders: BlockedSenders = .none) {
        self.base = base
        self.senders = senders
    }

    /// Returns the query with an answer that leaves out what `senders` sent.
    public func filtered(by senders: BlockedSenders) -> AnyQuery {
        AnyQuery(base, without: senders)
    }

    public var partition: String? { base.partition }
    public var bytesMax: Int? { base.bytesMax }
    public var showsMessages: Bool { senders.isEmpty && type(of: base).showsMessages }
    public var isForOperators: Bool { !senders.isEmpty || type(of: base).isForOperators }
    /// The findings in a shard in which nothing is or was the user's; nil if the query may find
    /// something there.
    public var nothing: AnyFindings? { type(of: base).anyNothing }

    /// Returns the query for the page of a history that may end after so many bytes; nil for
    /// another query.
    public func ending(after bytes: Int) -> AnyQuery? {
        base.ending(after: bytes).map { AnyQuery($0, without: senders) }
    }

    /// Whether the findings are those of such a query.
    public func isAnswered(by findings: AnyFindings) -> Bool {
        type(of: base).isAnswered(by: findings)
    }

    /// The shards, of `count`, that may contain a part of a user's list.
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
        left.senders == right.senders && left.base.isEqual(to: right.base)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(senders)
        base.hash(into: &hasher)
    }
}

extension AnyQuery: WireValue {
    public func encode(into writer: inout ByteWriter) {
        if !senders.isEmpty {
            writer.write(AnyQuery.codeOfFiltered)
            senders.encode(into: &writer)
        }
        writer.write(base.code)
        base.encode(into: &writer)
    }

    public convenience init(from reader: inout ByteReader) throws(WireError) {
        var code = try reader.readByte()
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
        self.init(try type.init(code: code, from: &reader), without: senders)
    }
}

/// The types of queries and findings, by the bytes that stand for them between nodes.
enum QueryTable {
    private static let types: [any Query.Type] =
        ofConversations + ofMessages + ofUsers + ofDevices + ofAccounts + ofFiles

    static let queries: [UInt8: any Query.Type] = table(types) { $0.codes }

    static let findings: [UInt8: any Findings.Type] = table(
        types.map { $0.answer } + [[NotificationView].self, [BlockView].self]
    ) { $0.codes }

    /// The views of what queries find.
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
    /// The views of what queries find, some of them several times.
    public static let ofQueries = QueryTable.views
}
