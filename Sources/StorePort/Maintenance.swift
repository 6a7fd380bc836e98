import Chat
import Wire

/// The maintenance of a disk, besides storing and reading.
package protocol Maintenance {
    /// The space on the disk; nil where the system does not say.
    var diskSpace: DiskSpace? { get }

    /// Sets whether the commits that follow may use the reserve: they are deletions, on a full
    /// disk.
    func setUrgent(_ isUrgent: Bool)

    /// Allocates the reserve, the space that is kept for deletions, unless it exists or the disk
    /// has too little space.
    func makeReserve()

    /// Empties the write log and SQLite's WAL.
    ///
    /// The result comes as `Node.onLogEmptied`, after which no file contains what was deleted
    /// before.
    func emptyLog()

    /// Reads the next documents of a shard, and checks their bytes and that every index leads to
    /// them.
    ///
    /// The finding about indexes is valid only while no commit of the shard is under way.
    func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart

    /// Forgets that the disk had lost acknowledged writes at the start: they have been fetched, or
    /// are given up.
    func forgetLoss()

    /// Copies all that is committed into a file; the result comes as `Node.onBackedUp`.
    ///
    /// - Parameter file: an absolute path, or a name in the folder for backups.
    func backUp(to file: String)
}

/// The default for stores that lose nothing.
extension Maintenance {
    package func forgetLoss() {}
}
