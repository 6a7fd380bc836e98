/// How much waits in the write log before it is flushed into the tables.
package struct WriteLogLimits: Hashable, Sendable {
    /// The records of a memtable: what is flushed together, in the order of the tables.
    ///
    /// The more there are, the more of them share a page; each is in memory until then, some
    /// 600 bytes and its text.
    package var recordsMax = 8_192
    /// The bytes of a memtable.
    package var bytesMax = 4 << 20
    /// The transactions of a memtable: a start after a crash applies each.
    package var rowsMax = 8_192
    /// How old a memtable becomes before it is flushed.
    package var ageMilliseconds: UInt64 = 5_000
    /// A batch of more bytes than this goes to the tables at once.
    package var batchBytesMax = 2 << 20
    /// The least of a memtable that is flushed with one commit; twice as many records as the commit
    /// brings, if those are more.
    package var sliceRecordsMin = 256
    /// How long a node that nobody writes to keeps what it could flush.
    package var idleMilliseconds: UInt64 = 1_000

    /// How many records are flushed in a transaction of their own, where nobody writes.
    static let recordsPerTransaction = 1_024
    /// How long a pause in the writing is before a flush that has begun goes on by itself.
    static let pauseMilliseconds: UInt64 = 10
    /// How long nothing is flushed after the disk did not let it.
    static let restMilliseconds: UInt64 = 1_000

    package static let standard = WriteLogLimits()
    /// Everything goes to the tables at once.
    package static let none: WriteLogLimits = {
        var limits = WriteLogLimits()
        limits.batchBytesMax = 0
        return limits
    }()

    package init() {}
}
