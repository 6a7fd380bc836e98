import CRDT
import Wire

/// A request that changes nothing: its parameters, the search in a shard, and its encoding between
/// nodes.
///
/// A new query needs one type with an entry in its file's list, and one conformance of the result
/// to `Findings` or `Finding`.
public protocol Query: Hashable, Sendable {
    associatedtype Answer: Findings

    /// The bytes that identify the type of query between nodes: one for each form of the query.
    static var codes: [UInt8] { get }
    /// The byte of `codes` that identifies the form of this query.
    var code: UInt8 { get }
    /// Writes the query's parameters, which follow the code.
    func encode(into writer: inout ByteWriter)
    /// Reads the query's parameters, which follow the code; all counts and lengths are bounded.
    init(code: UInt8, from reader: inout ByteReader) throws(WireError)

    /// The partition key whose shard answers the query; nil for a query that all shards answer.
    var partition: String? { get }
    /// Returns the findings of the query in one shard.
    ///
    /// - Throws: the refusal of the query, or the failure of a read.
    func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> Answer

    /// Whether the answer shows messages, which other users may have sent.
    static var showsMessages: Bool { get }
    /// Whether only nodes and operators may make the query.
    static var isForOperators: Bool { get }
    /// The findings in a shard that never had a document of the user's (`Term.concerning`); nil for
    /// a query that may find something in such a shard.
    static var nothing: Answer? { get }
    /// The query as a list, which a shard reads in slices; nil for a query that is no list.
    var list: (any ListQuery)? { get }
    /// The users whose shards alone can contain parts of the list; nil if all shards can.
    var users: [UserID]? { get }
    /// The bytes of messages after which a page of a history may end; nil for no limit in bytes.
    var bytesMax: Int? { get }
    /// Returns the query with a limit in bytes for a page of a history; nil for another query.
    func ending(after bytes: Int) -> Self?
}

extension Query {
    public var code: UInt8 { Self.codes[0] }
    public static var showsMessages: Bool { false }
    public static var isForOperators: Bool { false }
    public static var nothing: Answer? { nil }
    public var list: (any ListQuery)? { nil }
    public var users: [UserID]? { nil }
    public var bytesMax: Int? { nil }
    public func ending(after bytes: Int) -> Self? { nil }
}

/// The user for whom a query is answered.
public struct Viewer: Hashable, Sendable {
    public let user: UserID
    /// The senders whom the user has blocked and whose messages the answer leaves out.
    public let senders: BlockedSenders
    /// Whether the answer shows when each value has last changed.
    public let isExact: Bool

    public init(
        _ user: UserID, without senders: BlockedSenders = .none, isExact: Bool = false
    ) {
        self.user = user
        self.senders = senders
        self.isExact = isExact
    }
}

/// A query for a user's list, to which documents in all shards contribute parts.
///
/// A shard reads the list in slices, over several iterations of the event loop.
public protocol ListQuery: Query {
    /// The kind of the documents that contribute parts: conversations or items.
    static var kind: DocumentKey.Kind { get }
    /// The list without any part.
    static var empty: Answer { get }

    /// Returns the part that one document contributes to the list; nil for no part.
    func part<Source: QuerySource>(
        of document: Document, for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> Answer?
}

extension ListQuery {
    public static var nothing: Answer? { empty }
    public var list: (any ListQuery)? { self }
    public var partition: String? { nil }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> Answer {
        var answer = Self.empty
        for key in try source.keys(
            of: Self.kind, carrying: Self.term(of: viewer.user), partition: nil)
        {
            guard let document = try source.document(key),
                let part = try part(of: document, for: viewer, in: &source)
            else { continue }
            _ = answer.append(part)
        }
        return answer
    }

    /// Returns the term under which the index lists the documents of a user's list.
    public static func term(of user: UserID) -> String {
        kind == .item ? Term.owner(user) : Term.participant(user)
    }

    /// Returns the keys of those documents of a partition that may contribute to a user's list.
    public static func keys(in partition: String, of user: UserID) -> [DocumentKey] {
        let shared = DocumentKey(checked: kind, partition: partition, id: "")
        guard kind == .item else { return [shared] }
        return [shared, DocumentKey(checked: kind, partition: partition, id: user.text)]
    }
}
