/// The received bytes that are not split into lines yet; at most the bytes of one read.
struct Backlog: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0

    var isEmpty: Bool { bytes.isEmpty }
    var count: Int { bytes.count - start }

    mutating func append(_ more: Slice<UnsafeRawBufferPointer>) { bytes.append(contentsOf: more) }

    /// Feeds the bytes to `body`, which returns the number of bytes that it has consumed.
    ///
    /// - Returns: true if `body` has consumed any bytes.
    mutating func feed(_ body: (UnsafeRawBufferPointer) -> Int) -> Bool {
        let taken = bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        start += taken
        if start == bytes.count { self = Backlog() }
        return taken > 0
    }
}
