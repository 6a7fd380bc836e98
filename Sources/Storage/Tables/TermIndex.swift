import CRDT
import Chat
import Wire

/// The statements that find documents by their terms, and the participant states of a conversation.
struct TermIndex {
    let ofShard: Statement
    let ofPartition: Statement
    let ofPage: Statement
    let ofDocument: Statement
    let ofUser: Statement
    let participantStates: Statement

    /// The number of terms by which a user's documents are found, which is the same for all users.
    private static let concerning = Term.concerning(UserID(checked: "anybody")).count

    init(_ connection: Connection) throws(StorageError) {
        func prepare(_ place: String, _ end: String = "") throws(StorageError) -> Statement {
            try Statement(
                connection,
                """
                SELECT partition, id, sum FROM term
                WHERE shard = ?1 AND kind = ?2 AND word = ?3 \(place) ORDER BY partition, id \(end)
                """, doing: "reading the index of terms")
        }
        ofShard = try prepare("")
        ofPartition = try prepare("AND partition = ?4")
        ofPage = try prepare("AND (partition, id) > (?4, ?5)", "LIMIT ?6")
        ofDocument = try prepare("AND partition = ?4 AND id = ?5")
        let isConcerned = (0..<TermIndex.concerning).map { number in
            """
            EXISTS(SELECT 1 FROM term t WHERE t.shard = held.shard
                AND t.kind = ?\(2 * number + 2) AND t.word = ?\(2 * number + 3))
            """
        }
        // One statement reads all shards, so that all results are of one state of the file.
        ofUser = try Statement(
            connection,
            """
            WITH RECURSIVE held(shard) AS
                (SELECT 0 UNION ALL SELECT shard + 1 FROM held WHERE shard < ?1)
            SELECT shard FROM held WHERE \(isConcerned.joined(separator: " OR "))
            """, doing: "reading the index of terms")
        participantStates = try Statement(
            connection,
            """
            SELECT \(StoredRow.columns) FROM document d
            WHERE shard = ?1 AND partition = ?2 AND kind = ?3 ORDER BY time, id
            """, doing: "reading participant states")
    }
}

extension Reader {
    /// Returns the keys of the documents of a kind that carry a term, ascending.
    ///
    /// - Parameter partition: the only partition to search; nil for the whole shard.
    /// - Throws: `badIndex` at a damaged row of `term`.
    package func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        partition: String? = nil
    ) throws(StorageError) -> [DocumentKey] {
        try checkOpen()
        let statement = partition == nil ? indexKeys.ofShard : indexKeys.ofPartition
        try bind(statement, to: kind, carrying: term, in: shard)
        if let partition { try statement.bind(partition, at: 4) }
        let keys = try readKeys(of: kind, carrying: term, in: shard, statement)
        let unflushed = overlay.layers(of: shard)?.keys(of: kind, carrying: term) ?? []
        let added = unflushed.filter { partition == nil || $0.partition == partition }
        return added.isEmpty ? keys : Set(keys + added).sorted()
    }

    /// Returns the first `limit` keys after `last` of the documents of a kind that carry a term.
    ///
    /// - Throws: `badIndex` at a damaged row of `term`.
    package func keys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        after last: DocumentKey?, limit: Int
    ) throws(StorageError) -> [DocumentKey] {
        try checkOpen()
        let statement = indexKeys.ofPage
        try bind(statement, to: kind, carrying: term, in: shard)
        try statement.bind(last?.partition ?? "", at: 4)
        try statement.bind(last?.id ?? "", at: 5)
        try statement.bind(Int64(limit), at: 6)
        let keys = try readKeys(of: kind, carrying: term, in: shard, statement)
        let added = (overlay.layers(of: shard)?.keys(of: kind, carrying: term) ?? [])
            .filter { key in last.map { $0 < key } ?? true }
        return added.isEmpty ? keys : Array(Set(keys + added).sorted().prefix(limit))
    }

    /// Returns whether the index finds a document by a term.
    ///
    /// - Throws: `badIndex` at a damaged row of `term`.
    func finds(
        _ key: DocumentKey, by term: String, in shard: ShardID
    ) throws(StorageError) -> Bool {
        try checkOpen()
        let statement = indexKeys.ofDocument
        try bind(statement, to: key.kind, carrying: term, in: shard)
        try statement.bind(key.partition, at: 4)
        try statement.bind(key.id, at: 5)
        let stored = try readKeys(of: key.kind, carrying: term, in: shard, statement)
        guard stored.isEmpty else { return true }
        let unflushed = overlay.layers(of: shard)?.keys(of: key.kind, carrying: term)
        return unflushed?.contains(key) ?? false
    }

    private func bind(
        _ statement: Statement, to kind: DocumentKey.Kind, carrying term: String, in shard: ShardID
    ) throws(StorageError) {
        try statement.bind(Int64(shard.number), at: 1)
        try statement.bind(Int64(kind.number), at: 2)
        try statement.bind(term, at: 3)
    }

    private func readKeys(
        of kind: DocumentKey.Kind, carrying term: String, in shard: ShardID,
        _ statement: Statement
    ) throws(StorageError) -> [DocumentKey] {
        defer { statement.reset() }
        var keys: [DocumentKey] = []
        var term = term
        while try statement.step() {
            let sum = term.withUTF8 { word in
                Seal.sum(
                    ofTerm: UnsafeRawBufferPointer(word), shard: shard, kind: Int64(kind.number),
                    partition: statement.bytes(0), id: statement.bytes(1))
            }
            guard statement.number(2) == sum else { throw .badIndex(shard) }
            let (partition, id) = (statement.text(0), statement.text(1))
            keys.append(DocumentKey(checked: kind, partition: partition, id: id))
        }
        return keys
    }

    /// Returns the shards up to `last` with a conversation or an item that is or was the user's.
    package func shards(
        concerning user: UserID, upTo last: ShardID
    ) throws(StorageError) -> Set<ShardID> {
        try checkOpen()
        let wanted = Term.concerning(user)
        let statement = indexKeys.ofUser
        try statement.bind(Int64(last.number), at: 1)
        for (index, (kind, term)) in wanted.enumerated() {
            try statement.bind(Int64(kind.number), at: Int32(2 * index + 2))
            try statement.bind(term, at: Int32(2 * index + 3))
        }
        defer { statement.reset() }
        var found: Set<ShardID> = []
        while try statement.step() {
            if let number = UInt16(exactly: statement.number(0)) { found.insert(ShardID(number)) }
        }
        for shard in overlay.shards where shard <= last && !found.contains(shard) {
            guard let layers = overlay.layers(of: shard) else { continue }
            if wanted.contains(where: { !layers.keys(of: $0, carrying: $1).isEmpty }) {
                found.insert(shard)
            }
        }
        return found
    }

    /// Returns the participant states of a conversation, ascending by user; in the tables their
    /// rows are adjacent.
    ///
    /// - Throws: `badRecord` at the first document whose bytes are damaged.
    package func participantStates(
        of conversation: ConversationID, in shard: ShardID
    ) throws(StorageError) -> [Document] {
        try checkOpen()
        let statement = indexKeys.participantStates
        try statement.bind(Int64(shard.number), at: 1)
        try statement.bind(conversation.text, at: 2)
        try statement.bind(Int64(DocumentKey.Kind.participantState.number), at: 3)
        defer { statement.reset() }
        let row = StoredRow(statement, shard: shard)
        var participantStates: [Document] = []
        guard let layers = overlay.layers(of: shard) else {
            while try statement.step() { participantStates.append(try row.document(row.key)) }
            return participantStates
        }
        while try statement.step() {
            let key = row.key
            if layers.record(key) == nil { participantStates.append(try row.document(key)) }
        }
        for record in layers.participantStates(of: conversation) {
            participantStates.append(
                try StoredRow.document(record.key, in: shard, decoding: record.bytes))
        }
        return participantStates.sorted { $0.key.id < $1.key.id }
    }
}
