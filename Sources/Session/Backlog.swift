/// Bytes that were read and not cut into lines yet; never more than one read.
struct Backlog: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0

    var isEmpty: Bool { bytes.isEmpty }
    var count: Int { bytes.count - start }

    mutating func append(_ more: Slice<UnsafeRawBufferPointer>) { bytes.append(contentsOf: more) }

    /// Hands out what is there, as far as it is taken.
    ///
    /// - Returns: whether any of it was.
    mutating func feed(_ body: (UnsafeRawBufferPointer) -> Int) -> Bool {
        let taken = bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        start += taken
        if start == bytes.count { self = Backlog() }
        return taken > 0
    }
}
