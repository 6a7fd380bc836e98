/// The disk space that a store uses, in bytes.
package struct StoreUsage: Hashable, Sendable {
    package let databaseBytes: UInt64
    /// The size of SQLite's write-ahead log.
    package let logBytes: UInt64
    /// The space on the disk that this process may still use.
    package let freeBytes: UInt64

    package init(databaseBytes: UInt64, logBytes: UInt64, freeBytes: UInt64) {
        self.databaseBytes = databaseBytes
        self.logBytes = logBytes
        self.freeBytes = freeBytes
    }
}

/// The space on the disk of the data folder, in bytes.
package struct DiskSpace: Hashable, Sendable {
    package let freeBytes: UInt64
    package let totalBytes: UInt64
    /// The length of SQLite's WAL; the database file may grow by as much.
    package let logBytes: UInt64
    /// Whether the reserve, the space that is kept for deletions, is allocated.
    package let isReserved: Bool

    package init(freeBytes: UInt64, totalBytes: UInt64, logBytes: UInt64, isReserved: Bool) {
        self.freeBytes = freeBytes
        self.totalBytes = totalBytes
        self.logBytes = logBytes
        self.isReserved = isReserved
    }

    /// The value where the system does not say: enough space, until a write fails.
    package static let unknown = DiskSpace(
        freeBytes: .max, totalBytes: .max, logBytes: 0, isReserved: true)
}
