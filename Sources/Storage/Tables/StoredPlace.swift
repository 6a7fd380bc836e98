/// The place where a stored batch is read from.
enum StoredPlace: Hashable, Sendable {
    case tables
    /// The write log, until this memtable has been flushed.
    case writeLog(memtable: UInt64)
}
