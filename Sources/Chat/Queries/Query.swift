import CRDT
import Wire

/// A request that changes nothing: what it asks for, how a shard answers it, and its bytes between
/// nodes.
///
/// A query is added by one type with its entry in the list of its file, and the result by one
/// conformance to `Findings` or `Finding`.
public protocol Query: Hashable, Sendable {
    associatedtype Answer: Findings

    /// The bytes that stand for the type between nodes: one, or one for each form of a query.
    static var codes: [UInt8] { get }
    /// The one of `codes` with which this query is written.
    var code: UInt8 { get }
    /// Writes what follows the code.
    func encode(into writer: inout ByteWriter)
    /// Reads what follows the code; all counts and lengths are bounded.
    init(code: UInt8, from reader: inout ByteReader) throws(WireError)

    /// The partition key whose shard answers; nil for a list over all shards.
    var partition: String? { get }
    /// Returns the findings in one shard.
    ///
    /// - Throws: the refusal of the query, or the failure of a read.
    func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> Answer

    /// Whether the answer shows messages, which others have sent.
    static var showsMessages: Bool { get }
    /// Whether only nodes and operators may ask.
    static var isForOperators: Bool { get }
    /// The findings in a shard in which nothing is or was the user's (`Term.concerning`); nil if
    /// the query may find something there.
    static var nothing: Answer? { get }
    /// The query as a list that is read in slices; nil for another query.
    var list: (any ListQuery)? { get }
    /// The users in whose shards alone a part of the list may be; nil for all shards.
    var users: [UserID]? { get }
    /// The bytes of messages after which the page of a history may end; nil where it may not.
    var bytesMax: Int? { get }
    /// Returns the query for the page of a history that may end after so many bytes; nil for
    /// another query.
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

/// A user for whom a query is answered.
public struct Viewer: Hashable, Sendable {
    public let user: UserID
    /// The senders whom the user has blocked: their messages are left out.
    public let senders: BlockedSenders

    public init(_ user: UserID, without senders: BlockedSenders = .none) {
        self.user = user
        self.senders = senders
    }
}

/// A query for a list of a user's to which documents of all shards each give a part.
///
/// A shard reads it in slices, over several turns of the event loop.
public protocol ListQuery: Query {
    /// The kind of the documents that give the parts: conversations, or items.
    static var kind: DocumentKey.Kind { get }
    /// The list without parts.
    static var empty: Answer { get }

    /// Returns what one document gives to the list; nil for nothing.
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

    /// The term of the index under which the documents of a user's list are.
    public static func term(of user: UserID) -> String {
        kind == .item ? Term.owner(user) : Term.participant(user)
    }

    /// Returns the keys of the documents of a partition that may each give a part of a user's list.
    public static func keys(in partition: String, of user: UserID) -> [DocumentKey] {
        let shared = DocumentKey(checked: kind, partition: partition, id: "")
        guard kind == .item else { return [shared] }
        return [shared, DocumentKey(checked: kind, partition: partition, id: user.text)]
    }
}
