/// The limits of the write log, which determine when its records are flushed into the tables.
package struct WriteLogLimits: Hashable, Sendable {
    /// The greatest number of records in a memtable, which are flushed together in the order of the
    /// tables.
    ///
    /// The more records are flushed together, the more of them share a page. Each record stays in
    /// memory until it is flushed, and takes about 600 bytes plus its text.
    package var recordsMax = 8_192
    /// The greatest size of a memtable in bytes.
    package var bytesMax = 4 << 20
    /// The greatest number of transactions in a memtable; a start after a crash applies all.
    package var rowsMax = 8_192
    /// The age at which a memtable is flushed, in milliseconds.
    package var ageMilliseconds: UInt64 = 5_000
    /// The size in bytes from which on a batch bypasses the write log.
    package var batchBytesMax = 2 << 20
    /// The least number of records that are flushed with one commit; the number is twice that of
    /// the commit's records if that is more.
    package var sliceRecordsMin = 256
    /// The time without writes after which a node flushes the write log, in milliseconds.
    package var idleMilliseconds: UInt64 = 1_000

    /// The number of records that are flushed in a transaction of their own while nothing is
    /// written.
    static let recordsPerTransaction = 1_024
    /// The pause in writing, in milliseconds, after which a flush that has begun continues by
    /// itself.
    static let pauseMilliseconds: UInt64 = 10
    /// The pause after a flush that the disk refused, in milliseconds.
    static let restMilliseconds: UInt64 = 1_000

    package static let standard = WriteLogLimits()
    /// The limits with which every batch is written to the tables directly.
    package static let none: WriteLogLimits = {
        var limits = WriteLogLimits()
        limits.batchBytesMax = 0
        return limits
    }()

    package init() {}
}
