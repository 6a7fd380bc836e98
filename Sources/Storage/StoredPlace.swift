/// Where what was stored is to be read.
enum StoredPlace: Hashable, Sendable {
    case tables
    /// In the journal alone, until this generation of it is folded.
    case writeLog(memtable: UInt64)
}
