/// Where what was stored is to be read.
enum StoredPlace: Hashable, Sendable {
    case tables
    /// In the write log alone, until this memtable of it is flushed.
    case writeLog(memtable: UInt64)
}
