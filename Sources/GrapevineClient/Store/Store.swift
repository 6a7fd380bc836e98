import Foundation

/// The store of one user on this device: what nodes have told, what the user has done that no node
/// has accepted, and the token up to which the event stream is told.
///
/// The changes of a turn are one transaction, so that after any crash the store is as it was after
/// some turn. Rows hold records as JSON, beside the columns by which they are found.
final class Store {
    /// The number of the form of the tables, in `user_version`.
    private static let form: Int64 = 2

    private let database: SQLiteDatabase
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()
    private var cache = MessageCache()
    private var conversationCache = RecordCache<ConversationRecord>()
    private var markCache = RecordCache<[MarkRecord]>()
    private var profileCache = RecordCache<ProfileRecord>()
    /// The user whose store it is.
    private var user = ""
    /// Called before each commit: tests end an app there.
    var beforeCommit: () throws(StoreError) -> Void = {}

    /// Opens the file of a user.
    ///
    /// - Parameter path: the path of the file, or `:memory:`.
    /// - Throws: damage, if it is no file of a store: see ``recover(path:)``.
    convenience init(path: String) throws(StoreError) {
        try self.init(database: SQLiteDatabase(path: path))
    }

    /// Sets a damaged file aside and opens a new one.
    ///
    /// The new one takes over the operations that can be read; nodes tell the rest again.
    static func recover(path: String) throws(StoreError) -> Store {
        let left = operations(ofDamaged: path)
        setAside(path)
        let store = try Store(path: path)
        try store.commit(left.map(StoreChange.operation))
        return store
    }

    private init(database: SQLiteDatabase) throws(StoreError) {
        self.database = database
        try migrate()
        user = try signIn()?.user ?? ""
    }

    private func migrate() throws(StoreError) {
        let version = try database.rows("PRAGMA user_version").first?.first
        if version == .integer(Self.form) { return }
        guard version == .integer(0) else { throw .damaged("The file is of another version") }
        try database.transaction { () throws(StoreError) in
            for table in Self.tables { try database.run(table) }
            try database.run("PRAGMA user_version=\(Self.form)")
        }
    }

    private static let tables = [
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID",
        "CREATE TABLE conversation (id TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID",
        """
        CREATE TABLE message (
            conversation TEXT, id TEXT, sent INTEGER, pinned INTEGER, listed INTEGER,
            unread INTEGER, record BLOB, UNIQUE (conversation, id))
        """,
        "CREATE INDEX message_listed ON message (conversation, sent, id) WHERE listed",
        "CREATE INDEX message_unread ON message (conversation, sent) WHERE unread",
        "CREATE INDEX message_pin ON message (conversation) WHERE pinned",
        "CREATE INDEX message_id ON message (id)",
        "CREATE INDEX message_place ON message (conversation, sent, id)",
        """
        CREATE TABLE mark (conversation TEXT, user TEXT, record BLOB,
            PRIMARY KEY (conversation, user)) WITHOUT ROWID
        """,
        "CREATE TABLE item (id TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID",
        "CREATE TABLE profile (user TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID",
        "CREATE TABLE operation (number INTEGER PRIMARY KEY, record BLOB)",
        "CREATE TABLE file (id TEXT PRIMARY KEY, bytes BLOB)",
        "CREATE TABLE refusal (number INTEGER PRIMARY KEY, record BLOB)",
        "CREATE TABLE line (conversation TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID",
        """
        CREATE TABLE own_mark (conversation TEXT, kind TEXT, record BLOB,
            PRIMARY KEY (conversation, kind)) WITHOUT ROWID
        """,
    ]

    // MARK: Changes

    /// Stores the changes of a turn as one.
    ///
    /// - Parameter more: returns what follows from the changes, which the store shows already.
    func commit(
        _ changes: [StoreChange], _ more: () throws(StoreError) -> [StoreChange] = { [] }
    ) throws(StoreError) {
        guard !changes.isEmpty else {
            let rest = try more()
            return rest.isEmpty ? () : try commit(rest)
        }
        do {
            try database.transaction { () throws(StoreError) in
                for change in changes { try store(change) }
                for change in try more() { try store(change) }
                try beforeCommit()
            }
        } catch {
            forgetCaches()
            throw error
        }
    }

    /// Has everything read from the file again.
    func forgetCaches() {
        (cache, conversationCache) = (MessageCache(), RecordCache())
        (markCache, profileCache) = (RecordCache(), RecordCache())
    }

    private func store(_ change: StoreChange) throws(StoreError) {
        switch change {
        case .message(let record, let conversation):
            try store(record, in: conversation)
        case .deleteMessage(let id, let conversation):
            cache[conversation, id] = nil
            try database.run(
                "DELETE FROM message WHERE conversation = ? AND id = ?", .text(conversation),
                .text(id))
        case .deleteMessages(let conversation, let time):
            cache.drop(conversation)
            try database.run(
                "DELETE FROM message WHERE conversation = ? AND sent <= ?", .text(conversation),
                place(time))
        case .conversation(let record):
            conversationCache[record.id] = record
            try replace("conversation (id, record)", .text(record.id), try json(record))
        case .item(let record):
            try replace("item (id, record)", .text(record.id), try json(record))
        case .profile(let record):
            profileCache[record.user] = record
            try replace("profile (user, record)", .text(record.user), try json(record))
        case .mark(let record, let conversation):
            markCache[conversation] = nil
            try database.run(
                "REPLACE INTO mark (conversation, user, record) VALUES (?, ?, ?)",
                .text(conversation), .text(record.user), try json(record))
        case .operation(let operation):
            try replace(
                "operation (number, record)", .integer(Int64(clamping: operation.number)),
                try json(operation))
        case .deleteOperation(let number):
            try database.run(
                "DELETE FROM operation WHERE number = ?", .integer(Int64(clamping: number)))
        case .file(let bytes?, let id):
            try replace("file (id, bytes)", .text(id), .blob(bytes))
        case .file(nil, let id): try database.run("DELETE FROM file WHERE id = ?", .text(id))
        case .ownMark(let mark?, let conversation, let kind):
            try database.run(
                "REPLACE INTO own_mark (conversation, kind, record) VALUES (?, ?, ?)",
                .text(conversation), .text(kind.rawValue), try json(mark))
        case .ownMark(nil, let conversation, let kind):
            try database.run(
                "DELETE FROM own_mark WHERE conversation = ? AND kind = ?", .text(conversation),
                .text(kind.rawValue))
        case .token(let token): try set("token", try token.map(json))
        case .sessionTokens(let sessionTokens): try set("sessionTokens", try json(sessionTokens))
        case .signIn(let signIn):
            user = signIn?.user ?? user
            try set("signIn", try signIn.map(json))
        case .loaded(let isLoaded): try set("loaded", try isLoaded ? json(true) : nil)
        case .line(let line?, let id):
            try replace("line (conversation, record)", .text(id), try json(line))
        case .line(nil, let id):
            try database.run("DELETE FROM line WHERE conversation = ?", .text(id))
        case .deleteItems: try database.run("DELETE FROM item")
        case .refusal(let refusal?, let number):
            try replace(
                "refusal (number, record)", .integer(Int64(clamping: number)), try json(refusal))
        case .refusal(nil, let number):
            try database.run(
                "DELETE FROM refusal WHERE number = ?", .integer(Int64(clamping: number)))
        case .device(let name, let number, let stamp):
            try set("device", try json(Device(name: name, lastNumber: number, lastStamp: stamp)))
        }
    }

    private func store(
        _ record: MessageRecord, in conversation: String
    ) throws(StoreError) {
        cache[conversation, record.id] = record
        try database.run(
            """
            INSERT INTO message (conversation, id, sent, pinned, listed, unread, record)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET sent = excluded.sent, pinned = excluded.pinned,
                listed = excluded.listed, unread = excluded.unread, record = excluded.record
            """, .text(conversation), .text(record.id), place(record.sent),
            .integer(record.pinnedBy == nil ? 0 : 1),
            .integer(record.isListed(to: user) ? 1 : 0),
            .integer(record.isListed(to: user) && record.content?.sender != user ? 1 : 0),
            try json(record))
    }

    private func replace(
        _ columns: String, _ key: SQLiteValue, _ record: SQLiteValue
    ) throws(StoreError) {
        try database.run("REPLACE INTO \(columns) VALUES (?, ?)", key, record)
    }

    private func set(_ key: String, _ value: SQLiteValue?) throws(StoreError) {
        if let value {
            try replace("meta (key, value)", .text(key), value)
        } else {
            try database.run("DELETE FROM meta WHERE key = ?", .text(key))
        }
    }

    /// Moves the write-ahead log into the file, for instance before the app is suspended.
    func shorten() throws(StoreError) {
        try database.shorten()
    }

    /// Closes the file, so that it can be opened again, deleted, or left alone by a suspended app.
    func close() { database.close() }

    // MARK: Reads

    /// The name of this device, the last number and the time of the last operation.
    struct Device: Equatable, Codable {
        var name: String
        var lastNumber: UInt64
        var lastStamp: Int64
    }

    func device() throws(StoreError) -> Device? { try meta("device") }

    func signIn() throws(StoreError) -> SignIn? { try meta("signIn") }

    func token() throws(StoreError) -> String? { try meta("token") }

    func isLoaded() throws(StoreError) -> Bool { try meta("loaded") ?? false }

    /// Returns the refusals that the app has not been told, by the numbers of their operations.
    func refusals() throws(StoreError) -> [Refusal] {
        try records(database.rows("SELECT record FROM refusal ORDER BY number"))
    }

    func sessionTokens() throws(StoreError) -> SessionTokens {
        try meta("sessionTokens") ?? SessionTokens()
    }

    func operations() throws(StoreError) -> [Operation] {
        try records(database.rows("SELECT record FROM operation ORDER BY number"))
    }

    /// Returns the bytes of a file that is to be uploaded.
    func file(_ id: String) throws(StoreError) -> Data? {
        let rows = try database.rows("SELECT bytes FROM file WHERE id = ?", .text(id))
        guard case .blob(let bytes)? = rows.first?.first else { return nil }
        return bytes
    }

    /// Returns the number of bytes of all files that are to be uploaded.
    func fileBytes() throws(StoreError) -> Int {
        let rows = try database.rows("SELECT coalesce(sum(length(bytes)), 0) FROM file")
        guard case .integer(let count)? = rows.first?.first else { return 0 }
        return Int(count)
    }

    func ownMarks() throws(StoreError) -> [Marks.Mark] {
        try records(database.rows("SELECT record FROM own_mark ORDER BY conversation, kind"))
    }

    func conversations() throws(StoreError) -> [ConversationRecord] {
        try records(database.rows("SELECT record FROM conversation ORDER BY id"))
    }

    func conversation(_ id: String) throws(StoreError) -> ConversationRecord? {
        try conversationCache.value(of: id) { () throws(StoreError) in
            try record(database.rows("SELECT record FROM conversation WHERE id = ?", .text(id)))
        }
    }

    /// Returns the lines of the list of chats, without names of users.
    func lines() throws(StoreError) -> [Conversation] {
        try records(database.rows("SELECT record FROM line"))
    }

    /// Returns the epoch of a conversation; 0 for an unknown one.
    func epoch(of id: String) throws(StoreError) -> Int { try conversation(id)?.epoch ?? 0 }

    /// Returns the messages of a conversation that were sent at a time or later, in order, and
    /// those of which only a part is known.
    func messages(
        in conversation: String, from time: ExactTime = .zero
    ) throws(StoreError) -> [MessageRecord] {
        try messages(
            conversation,
            database.rows(
                "SELECT id FROM message WHERE conversation = ? AND sent >= ? ORDER BY sent, id",
                .text(conversation), place(time)))
    }

    /// Returns the messages of a conversation that were sent at a time or before, in order.
    func messages(
        in conversation: String, through time: ExactTime
    ) throws(StoreError) -> [MessageRecord] {
        try messages(
            conversation,
            database.rows(
                "SELECT id FROM message WHERE conversation = ? AND sent <= ? ORDER BY sent, id",
                .text(conversation), place(time)))
    }

    /// Returns the newest message that the list of chats may show.
    func lastListed(
        in conversation: String, from time: ExactTime
    ) throws(StoreError) -> MessageRecord? {
        let rows = try database.rows(
            """
            SELECT id FROM message WHERE conversation = ? AND listed AND sent >= ?
            ORDER BY sent DESC, id DESC LIMIT 1
            """, .text(conversation), place(time))
        return try messages(conversation, rows).first
    }

    /// Returns the number of messages of others after a time that the user sees.
    func unreadCount(in conversation: String, after time: ExactTime) throws(StoreError) -> Int {
        let rows = try database.rows(
            "SELECT count(*) FROM message WHERE conversation = ? AND unread AND sent > ?",
            .text(conversation), place(time))
        guard case .integer(let count)? = rows.first?.first else { return 0 }
        return Int(count)
    }

    /// Returns the conversation of a message.
    func conversation(ofMessage id: String) throws(StoreError) -> String? {
        let rows = try database.rows("SELECT conversation FROM message WHERE id = ?", .text(id))
        guard case .text(let conversation)? = rows.first?.first else { return nil }
        return conversation
    }

    /// Returns the pinned messages of a conversation.
    func pins(in conversation: String) throws(StoreError) -> [MessageRecord] {
        try messages(
            conversation,
            database.rows(
                "SELECT id FROM message WHERE conversation = ? AND pinned", .text(conversation)))
    }

    /// Returns the messages whose ids are the first column of rows.
    private func messages(
        _ conversation: String, _ rows: [[SQLiteValue]]
    ) throws(StoreError) -> [MessageRecord] {
        var messages: [MessageRecord] = []
        messages.reserveCapacity(rows.count)
        for row in rows {
            guard case .text(let id)? = row.first, let record = try message(id, in: conversation)
            else { throw .damaged("A message has no id") }
            messages.append(record)
        }
        return messages
    }

    func message(_ id: String, in conversation: String) throws(StoreError) -> MessageRecord? {
        if let known = cache[conversation, id] { return known }
        let found: MessageRecord? = try record(
            database.rows(
                "SELECT record FROM message WHERE conversation = ? AND id = ?",
                .text(conversation), .text(id)))
        cache[conversation, id] = found
        return found
    }

    func marks(in conversation: String) throws(StoreError) -> [MarkRecord] {
        try markCache.value(of: conversation) { () throws(StoreError) in
            try records(
                database.rows(
                    "SELECT record FROM mark WHERE conversation = ? ORDER BY user",
                    .text(conversation)))
        } ?? []
    }

    func mark(of user: String, in conversation: String) throws(StoreError) -> MarkRecord? {
        try marks(in: conversation).first { $0.user == user }
    }

    func item(_ id: String) throws(StoreError) -> ItemRecord? {
        try record(database.rows("SELECT record FROM item WHERE id = ?", .text(id)))
    }

    func profile(of user: String) throws(StoreError) -> ProfileRecord? {
        try profileCache.value(of: user) { () throws(StoreError) in
            try record(database.rows("SELECT record FROM profile WHERE user = ?", .text(user)))
        }
    }

    func items() throws(StoreError) -> [ItemRecord] {
        try records(database.rows("SELECT record FROM item ORDER BY id"))
    }

    func profiles() throws(StoreError) -> [ProfileRecord] {
        try records(database.rows("SELECT record FROM profile ORDER BY user"))
    }

    private func meta<Value: Decodable>(_ key: String) throws(StoreError) -> Value? {
        try record(database.rows("SELECT value FROM meta WHERE key = ?", .text(key)))
    }

    // MARK: Rows

    /// Returns the column of a time; a message whose place is not known is later than all others.
    private func place(_ time: ExactTime?) -> SQLiteValue {
        .integer(Int64(clamping: time?.bits ?? UInt64.max))
    }

    private func json<Record: Encodable>(_ record: Record) throws(StoreError) -> SQLiteValue {
        do {
            return .blob(try encoder.encode(record))
        } catch {
            throw StoreError(code: 1, message: "A record cannot be written: \(error)")
        }
    }

    /// Returns the records of the first column of rows.
    ///
    /// - Throws: damage if one cannot be read.
    private func records<Record: Decodable>(
        _ rows: [[SQLiteValue]]
    ) throws(StoreError) -> [Record] {
        var records: [Record] = []
        for row in rows {
            guard case .blob(let data)? = row.first else { throw .damaged("A row has no record") }
            do {
                records.append(try decoder.decode(Record.self, from: data))
            } catch {
                throw .damaged("A record cannot be read: \(error)")
            }
        }
        return records
    }

    /// Returns the record of the first row, if there is one.
    private func record<Record: Decodable>(
        _ rows: [[SQLiteValue]]
    ) throws(StoreError) -> Record? {
        let found: [Record] = try records(rows)
        return found.first
    }

    // MARK: Damage

    /// Returns the operations that can be read of a damaged file: one after the other, since a page
    /// in their midst may be gone.
    private static func operations(ofDamaged path: String) -> [Operation] {
        do {
            let database = try SQLiteDatabase(path: path)
            let numbers = try database.rows("SELECT number FROM operation ORDER BY number")
            return numbers.compactMap { row in
                do {
                    let rows = try database.rows(
                        "SELECT record FROM operation WHERE number = ?", row.first ?? .null)
                    guard case .blob(let data)? = rows.first?.first else { return nil }
                    return try JSONDecoder().decode(Operation.self, from: data)
                } catch {
                    return nil
                }
            }
        } catch {
            return []
        }
    }

    private static func setAside(_ path: String) {
        let files = FileManager.default
        for suffix in ["", "-wal", "-shm"] where files.fileExists(atPath: path + suffix) {
            let aside = path + ".damaged" + suffix
            do {
                if files.fileExists(atPath: aside) { try files.removeItem(atPath: aside) }
                try files.moveItem(atPath: path + suffix, toPath: aside)
            } catch {
                continue  // Opening the file tells what is wrong.
            }
        }
    }
}

extension StoreError {
    /// A record or a row that is not what the store has written.
    static func damaged(_ message: String) -> StoreError {
        StoreError(code: 11, message: message)
    }
}
