/// Bytes on their way to the kernel, in memory that does not move while libuv reads it.
///
/// Each byte is copied once, when it is appended. The buffer has no limit of its own: the writer
/// watches `Connection.queuedBytes` and decides what to do about a slow reader.
struct OutputBuffer: ~Copyable {
    /// The first allocation, and the most memory that an empty buffer keeps: most connections are
    /// idle, and an event that all of them get fits.
    private static let keptBytes = 512

    private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private(set) var count = 0

    init() {}

    deinit { memory.deallocate() }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        reserve(count + bytes.count)
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    /// The bytes from `start` on; valid until the buffer is changed.
    func bytes(from start: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: memory[start..<count])
    }

    /// Removes the bytes, and gives the memory of many back.
    mutating func removeAll() {
        count = 0
        guard memory.count > Self.keptBytes else { return }
        memory.deallocate()
        memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    }

    /// Doubles the memory, so that appending costs the same however much is queued.
    private mutating func reserve(_ needed: Int) {
        guard needed > memory.count else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(needed, memory.count * 2, Self.keptBytes), alignment: 16)
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        memory.deallocate()
        memory = larger
    }
}
