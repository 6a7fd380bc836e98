import CSQLite
import Glibc

/// The layout of the file, and the number by which versions know each other's.
///
/// The order of the keys is what makes writes and reads cheap, for a commit costs a page in the
/// log for each page that it touches, and a page read costs as much as fifty rows on it:
/// - `document` is keyed by conversation and, in it, by the time of sending: a page of history is
///   one run of rows, and a new message goes to the end of its conversation's run, onto the page
///   where the last one went. Everything else of a conversation stands in front of it under time
///   zero.
/// - `place` finds a message by its id, where the id itself does not say when about it was sent
///   (see `NearID`): where its sender chose the id, or it was made long before.
/// - `dots` finds documents by who changed them last: a replica's changes ascend, so they are
///   appended to one run for each shard and replica, sixteen to a row (see `DotBlock`), and what a
///   peer lacks is read in one go. A replica's 16 bytes are said once, in `replica`, and in every
///   row by their number.
/// - `term` finds the few documents that are asked for by something else than their key: a user's
///   conversations, a conversation's pins, all profiles. It is told from the documents, and changes
///   seldom.
/// - `journal` is where a commit goes first; see `Journal`.
/// - The shard comes first everywhere: a copy is scanned, recomputed and dropped by one range.
enum Format {
    static let number: Int64 = 5
    /// Beside its own number a file says which is the least that reads and writes it: in the bits
    /// from this one on, 0 where that is its own.
    ///
    /// So a version that only adds tables leaves its files to those before it, and a cluster goes
    /// back to them node by node.
    static let readableShift: Int64 = 16

    /// Whether this version reads and writes a file that says this.
    static func reads(_ found: Int64) -> Bool {
        found <= number || (1...number).contains(found >> readableShift)
    }

    /// The number of a file's own format.
    static func own(_ found: Int64) -> Int { Int(found & (1 << readableShift - 1)) }
    /// "GRPV".
    static let applicationID: Int64 = 0x4752_5056
    static let fileName = "grapevine.sqlite"

    private static let tables = """
        CREATE TABLE setting(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE copy(shard INTEGER PRIMARY KEY, header BLOB NOT NULL);
        CREATE TABLE replica(number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);
        CREATE TABLE document(
            shard INTEGER, partition TEXT, kind INTEGER, time INTEGER, id TEXT,
            body BLOB NOT NULL,
            PRIMARY KEY(shard, partition, kind, time, id)) WITHOUT ROWID;
        CREATE TABLE place(
            shard INTEGER, partition TEXT, id TEXT, time INTEGER NOT NULL,
            PRIMARY KEY(shard, partition, id)) WITHOUT ROWID;
        \(dotsTable)
        \(termTable)
        \(journalTable)
        """

    private static let dotsTable = """
        CREATE TABLE dots(
            shard INTEGER, replica INTEGER, block INTEGER, body BLOB NOT NULL,
            PRIMARY KEY(shard, replica, block)) WITHOUT ROWID;
        """

    private static let journalTable = """
        CREATE TABLE journal(number INTEGER PRIMARY KEY, body BLOB NOT NULL);
        """

    private static let termTable = """
        CREATE TABLE term(
            shard INTEGER, kind INTEGER, word TEXT, partition TEXT, id TEXT,
            PRIMARY KEY(shard, kind, word, partition, id)) WITHOUT ROWID;
        """

    /// Creates the file under another name and renames it, so that what stands under its own name
    /// is always whole.
    static func create(at path: String) throws(StorageError) {
        let draft = path + ".new"
        for leftover in [draft, draft + "-journal"] { unlink(leftover) }
        let connection = try Connection(
            draft, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        defer { connection.close() }
        try connection.run(
            """
            PRAGMA page_size = \(pageBytes);
            PRAGMA synchronous = FULL;
            BEGIN;
            \(tables)
            PRAGMA application_id = \(applicationID);
            PRAGMA user_version = \(number);
            COMMIT;
            """, doing: "creating the tables")
        guard rename(draft, path) == 0 else { throw .system(doing: "naming the new file") }
    }

    static let pageBytes = 4_096

    /// Brings an older file to this format, step by step, each in a transaction of its own.
    ///
    /// - Throws: `StorageError.newerFormat` where a later version has been here.
    static func migrate(_ connection: Connection) throws(StorageError) {
        let found = try connection.number(of: "user_version")
        guard reads(found) else { throw .newerFormat(own(found)) }
        guard found <= number else { return }
        // There is no older format than 1.
        guard found >= 1 else { throw .foreignFile }
        if found < 2 {
            try change(connection, to: 2, "\(termTable)") { () throws(StorageError) in
                try TermMigration(connection).run()
            }
        }
        if found < 3 { try change(connection, to: 3, journalTable) {} }
        // And from here on rows of `place` may be missing that earlier versions need.
        if found < 4 {
            try change(connection, to: 4, dotsTable) { () throws(StorageError) in
                try DotMigration(connection).run()
                try connection.run("DROP TABLE dot", doing: "changing the table of dots")
            }
        }
        if found < 5 { try renewTerms(connection) }
    }

    /// One step: a new table, and what the file holds for it.
    private static func change(
        _ connection: Connection, to number: Int, _ table: String,
        filling: () throws(StorageError) -> Void
    ) throws(StorageError) {
        let doing = "changing the file to format \(number)"
        do throws(StorageError) {
            try connection.run("BEGIN IMMEDIATE; \(table)", doing: doing)
            try filling()
            try connection.run("PRAGMA user_version = \(number); COMMIT", doing: doing)
        } catch {
            sqlite3_exec(connection.handle, "ROLLBACK", nil, nil, nil)
            throw error
        }
    }

    /// Format 5: what was left or is deleted, and profiles, have their words in the index, too.
    private static func renewTerms(_ connection: Connection) throws(StorageError) {
        let doing = "making the index of terms anew"
        do throws(StorageError) {
            // What the journal held is overwritten.
            try connection.run("PRAGMA secure_delete = ON; BEGIN IMMEDIATE", doing: doing)
            try emptyJournal(connection)
            try connection.run("DELETE FROM term", doing: doing)
            try TermMigration(connection).run()
            try connection.run("PRAGMA user_version = 5; COMMIT", doing: doing)
        } catch {
            sqlite3_exec(connection.handle, "ROLLBACK", nil, nil, nil)
            throw error
        }
    }

    /// Tells the tables what the journal holds, up to a row that cannot be read: its records carry
    /// words of their time.
    private static func emptyJournal(_ connection: Connection) throws(StorageError) {
        let (journal, tables) = (try Journal(connection), try Tables(connection))
        var last: Int64 = 0
        while let row = try journal.row(after: last), let content = row.content {
            try tables.store(content.records.folded()[...])
            try tables.store(content.headers, content.settings)
            last = row.number
        }
        try journal.remove(upTo: last)
    }
}
