import CRDT
import Chat
import Wire

/// The statements that read a conversation's messages in the order of history.
struct Histories {
    private let newest: Statement
    private let before: Statement
    private let after: Statement

    init(_ connection: Connection) throws(StorageError) {
        func prepare(
            _ place: String, _ direction: String
        ) throws(StorageError) -> Statement {
            try Statement(
                connection,
                """
                SELECT \(StoredRow.columns) FROM document d
                WHERE shard = ?1 AND partition = ?2 AND kind = ?3 \(place)
                ORDER BY time \(direction), id \(direction)
                """, doing: "reading history")
        }
        newest = try prepare("", "DESC")
        before = try prepare("AND (time, id) < (?4, ?5)", "DESC")
        after = try prepare("AND (time, id) > (?4, ?5)", "ASC")
    }

    /// Binds the statement for a page; the caller steps and resets it.
    func open(
        _ place: HistoryPage.Place, of conversation: ConversationID, in shard: ShardID
    ) throws(StorageError) -> Statement {
        let (statement, position): (Statement, HistoryPosition?) =
            switch place {
            case .newest: (newest, nil)
            case .before(let position): (before, position)
            case .after(let position): (after, position)
            }
        precondition(!statement.isOpen, "nobody reads history while being handed history")
        try statement.bind(Int64(shard.number), at: 1)
        try statement.bind(conversation.text, at: 2)
        try statement.bind(Int64(DocumentKey.Kind.message.number), at: 3)
        guard let position else { return statement }
        // A bound greater than `Int64.max` is clamped, since no time in the table is greater.
        try statement.bind(Int64(clamping: position.time.bits), at: 4)
        try statement.bind(position.id.text, at: 5)
        return statement
    }
}

extension Reader {
    /// Calls `handing` with a conversation's messages, from the page's place in the page's
    /// direction, until `handing` returns false.
    ///
    /// The caller enforces the page's limit, since not every message is shown.
    ///
    /// - Throws: `badRecord` at the first message whose bytes are damaged.
    package func history(
        _ conversation: ConversationID, in shard: ShardID, page: HistoryPage,
        handing: (Document) -> Bool
    ) throws(StorageError) {
        try checkOpen()
        let statement = try histories.open(page.place, of: conversation, in: shard)
        defer { statement.reset() }
        let row = StoredRow(statement, shard: shard)
        let layers = overlay.layers(of: shard)
        var unflushed = layers?.messages(of: conversation, on: page)
        while try statement.step() {
            let key = row.key
            if let layers {
                let position = HistoryPosition(
                    time: HybridTimestamp(bits: UInt64(bitPattern: row.time)),
                    id: MessageID(checked: key.id))
                while let record = unflushed?.next(before: position) {
                    guard handing(try document(record, in: shard)) else { return }
                }
                guard layers.record(key) == nil else { continue }
            }
            guard handing(try row.document(key)) else { return }
        }
        while let record = unflushed?.next(before: nil) {
            guard handing(try document(record, in: shard)) else { return }
        }
    }

    private func document(_ record: Record, in shard: ShardID) throws(StorageError) -> Document {
        try StoredRow.document(record.key, in: shard, decoding: record.bytes)
    }
}
