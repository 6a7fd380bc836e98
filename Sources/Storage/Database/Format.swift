import CSQLite
import Glibc

/// The layout of the database file, and its version number.
///
/// The order of the keys makes writes and reads cheap: a commit costs a page in the write-ahead log
/// for each page that it touches, and reading a page costs as much as reading fifty rows on it.
/// - `document` is keyed by conversation and, within it, by the time of sending: a page of history
///   is one run of rows, and a new message goes to the end of its conversation's run, onto the page
///   of the previous one. All other documents of a conversation precede its messages, under time
///   zero.
/// - `place` finds a message by its id if the id does not contain the approximate sending time (see
///   `NearID`): the sender chose such an id, or a node created it long before.
/// - `dots` finds documents by the dots of their last changes: the seqs of a replica id ascend, so
///   they are appended to one run for each shard and replica id, sixteen to a row (see `DotBlock`),
///   and the documents that a peer lacks are read in one pass. The 16 bytes of a replica id are
///   stored once, in `replica`; all other rows contain its number.
/// - `term` finds the few documents that are looked up by a term instead of their key: a user's
///   conversations, a conversation's pins, all profiles. The rows of `term` are computed from the
///   documents and seldom change.
/// - `copy` contains the shards' headers and is written with every flush of a memtable; the part of
///   a shard's vector that seldom changes is in `base`, and the header names its base by a hash.
/// - `journal` is the write log, to which each commit is written first; see `WriteLog`.
/// - The shard is the first column of every key: a shard replica is scanned, recomputed and dropped
///   as one range.
/// - Every row has a checksum over its key and its content: no part of a damaged row is used, and
///   it does not count as empty. `place`, `dots` and `term` can be rebuilt from `document`.
enum Format {
    static let number: Int64 = 8
    /// The oldest version with a compatible format: that version and this one can read and write
    /// each other's files, since only terms were added (see `AddedTerms`).
    static let oldest: Int64 = 7
    /// The version number that this version writes into a file.
    static let stored = number | oldest << readableShift
    /// The position, in the version number of a file, of the oldest version that can read and write
    /// the file; those bits are 0 if only the version that wrote the file can.
    ///
    /// A version that only adds tables thus writes files that earlier versions can open, so a
    /// cluster can be downgraded node by node.
    static let readableShift: Int64 = 16
    /// The file's application id, "GRPV".
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

    /// Creates the file under a temporary name and renames it, so that the file under its final
    /// name is always complete.
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
            PRAGMA user_version = \(stored);
            COMMIT;
            """, doing: "creating the tables")
        guard rename(draft, path) == 0 else { throw .system(doing: "naming the new file") }
    }

    static let pageBytes = 4_096

    /// - Parameter found: the version number in the file.
    /// - Throws: `StorageError.newerFormat` for a later version whose files this version cannot
    ///   read, `foreignFile` for a format that no version writes any more.
    static func check(_ found: Int64) throws(StorageError) {
        let own = found & (1 << readableShift - 1)
        guard own >= oldest else { throw .foreignFile }
        guard own <= number || (1...number).contains(found >> readableShift) else {
            throw .newerFormat(Int(own))
        }
    }
}
