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
/// - `copy` is written with every commit; what of a shard's vector seldom changes is in `base`, and
///   the header says by a hash of it which base it goes with.
/// - `writeLog` is where a commit goes first; see `WriteLog`.
/// - The shard comes first everywhere: a copy is scanned, recomputed and dropped by one range.
/// - Every row carries a checksum over its key and its content: of a damaged row nothing is
///   believed, not even that it is empty. `place`, `dots` and `term` can be made anew from
///   `document`.
enum Format {
    static let number: Int64 = 7
    /// Beside its own number a file says which is the least that reads and writes it: in the bits
    /// from this one on, 0 where that is its own.
    ///
    /// So a version that only adds tables leaves its files to those before it, and a cluster goes
    /// back to them node by node.
    static let readableShift: Int64 = 16
    /// "GRPV".
    static let applicationID: Int64 = 0x4752_5056
    static let fileName = "grapevine.sqlite"

    private static let tables = """
        CREATE TABLE setting(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE copy(shard INTEGER PRIMARY KEY, header BLOB NOT NULL);
        CREATE TABLE base(shard INTEGER PRIMARY KEY, body BLOB NOT NULL);
        CREATE TABLE replica(
            number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, sum INTEGER NOT NULL);
        CREATE TABLE document(
            shard INTEGER, partition TEXT, kind INTEGER, time INTEGER, id TEXT,
            body BLOB NOT NULL,
            PRIMARY KEY(shard, partition, kind, time, id)) WITHOUT ROWID;
        CREATE TABLE place(
            shard INTEGER, partition TEXT, id TEXT, time INTEGER NOT NULL,
            sum INTEGER NOT NULL, PRIMARY KEY(shard, partition, id)) WITHOUT ROWID;
        CREATE TABLE dots(
            shard INTEGER, replica INTEGER, block INTEGER, body BLOB NOT NULL,
            PRIMARY KEY(shard, replica, block)) WITHOUT ROWID;
        CREATE TABLE term(
            shard INTEGER, kind INTEGER, word TEXT, partition TEXT, id TEXT,
            sum INTEGER NOT NULL,
            PRIMARY KEY(shard, kind, word, partition, id)) WITHOUT ROWID;
        CREATE TABLE journal(number INTEGER PRIMARY KEY, body BLOB NOT NULL);
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

    /// - Parameter found: what the file says of its format.
    /// - Throws: `StorageError.newerFormat` where a later version has been here that this one
    ///   cannot follow, `foreignFile` for a format that no version writes any more.
    static func check(_ found: Int64) throws(StorageError) {
        let own = found & (1 << readableShift - 1)
        guard own >= number else { throw .foreignFile }
        guard own == number || (1...number).contains(found >> readableShift) else {
            throw .newerFormat(Int(own))
        }
    }
}
