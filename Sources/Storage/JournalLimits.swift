/// How much waits in the journal before it is folded into the tables.
package struct JournalLimits: Hashable, Sendable {
    /// The records of a generation: what is folded together, in the order of the tables.
    ///
    /// The more there are, the more of them share a page; each is in memory until then, some
    /// 600 bytes and its text.
    package var recordsMax: Int
    /// The bytes of a generation.
    package var bytesMax: Int
    /// A batch of more bytes than this goes to the tables at once.
    package var batchBytesMax: Int
    /// The least of a generation that is folded with one commit; twice as many records as the
    /// commit brings, if those are more.
    package var sliceRecordsMin: Int
    /// How long a node that nobody writes to keeps what it could fold.
    package var idleMilliseconds: UInt64

    /// How many records are folded in a transaction of their own, where nobody writes.
    static let recordsPerTransaction = 1_024
    /// How long a pause in the writing is before a fold that has begun goes on by itself.
    static let pauseMilliseconds: UInt64 = 10

    package static let standard = JournalLimits()
    /// Everything goes to the tables at once.
    package static let none = JournalLimits(batchBytesMax: 0)

    package init(
        recordsMax: Int = 8_192, bytesMax: Int = 8 << 20, batchBytesMax: Int = 2 << 20,
        sliceRecordsMin: Int = 256, idleMilliseconds: UInt64 = 1_000
    ) {
        self.recordsMax = recordsMax
        self.bytesMax = bytesMax
        self.batchBytesMax = batchBytesMax
        self.sliceRecordsMin = sliceRecordsMin
        self.idleMilliseconds = idleMilliseconds
    }
}
