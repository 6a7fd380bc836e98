import Glibc

/// The speed of the disk beside that of files over HTTP: as many bytes as the longest file has,
/// written in one go and synced, and read back.
struct DiskStream {
    /// The bytes of the longest file that a node takes.
    static let bytes = 25 << 20

    let writeSeconds: Double
    let readSeconds: Double

    init(in folder: String, nanoseconds: () -> UInt64) throws(BenchError) {
        let path = folder + "/stream"
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Files.failure("opening \(path)") }
        defer {
            close(descriptor)
            unlink(path)
        }
        var block = [UInt8](repeating: 0x67, count: 1 << 20)
        let began = nanoseconds()
        for _ in 0..<(Self.bytes / block.count) {
            guard write(descriptor, block, block.count) == block.count else {
                throw Files.failure("writing \(path)")
            }
        }
        guard fsync(descriptor) == 0 else { throw Files.failure("syncing \(path)") }
        let written = nanoseconds()
        writeSeconds = Double(written - began) / 1e9
        // What the kernel still has is not read from the disk.
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        lseek(descriptor, 0, SEEK_SET)
        let reopened = nanoseconds()
        for _ in 0..<(Self.bytes / block.count) {
            guard read(descriptor, &block, block.count) == block.count else {
                throw Files.failure("reading \(path)")
            }
        }
        readSeconds = Double(nanoseconds() - reopened) / 1e9
    }
}
