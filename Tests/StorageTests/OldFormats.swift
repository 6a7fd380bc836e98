import CRDT
import Chat
import Storage
import Testing
import Wire

/// The file as earlier versions wrote it.
extension RawFile {
    func makeFormat1() throws {
        try makeFormat3()
        run("DROP TABLE term; DROP TABLE journal; PRAGMA user_version = 1")
    }

    /// A row for each dot.
    func makeFormat3() throws {
        run(
            """
            CREATE TABLE dot(
                shard INTEGER, replica INTEGER, seq INTEGER,
                partition TEXT NOT NULL, kind INTEGER NOT NULL, time INTEGER NOT NULL,
                id TEXT NOT NULL,
                PRIMARY KEY(shard, replica, seq)) WITHOUT ROWID
            """)
        for row in try rows("SELECT shard, replica, block, hex(body) FROM dots") {
            for (seq, place) in try block(row[2], row[3]).places {
                let key = place.key
                run(
                    """
                    INSERT INTO dot VALUES(\(row[0]), \(row[1]), \(seq), '\(key.partition)',
                        \(key.kind.number), \(place.time.bits), '\(key.id)')
                    """)
            }
        }
        run("DROP TABLE dots; PRAGMA user_version = 3")
    }
}
