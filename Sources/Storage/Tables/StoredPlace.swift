/// The place from which the reader reads a stored batch.
enum StoredPlace: Hashable, Sendable {
    case tables
    /// The write log, until this memtable has been flushed.
    case writeLog(memtable: UInt64)
}
