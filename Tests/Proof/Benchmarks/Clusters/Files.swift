import Glibc

/// The file-system functions of a run.
enum Files {
    /// Creates an empty folder below `$TMPDIR`, or `/tmp`, and returns its path.
    static func temporaryFolder() throws(BenchError) -> String {
        let variable: UnsafeMutablePointer<CChar>? = getenv("TMPDIR")
        let parent = variable.map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/grapevine-bench.XXXXXX".utf8CString)
        guard let name = mkdtemp(&template) else { throw failure("making a folder in \(parent)") }
        return String(cString: name)
    }

    static func make(folder: String) throws(BenchError) {
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw failure("making \(folder)")
        }
    }

    /// Writes a file that its owner alone may read.
    static func write(_ text: String, to path: String) throws(BenchError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw failure("creating \(path)") }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw failure("writing \(path)")
        }
    }

    /// Removes the folder with its contents; a missing folder is no error.
    static func remove(folder: String) throws(BenchError) {
        guard let stream = opendir(folder) else {
            if errno == ENOENT { return }
            throw failure("opening \(folder)")
        }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) {
                    String(cString: $0)
                }
            }
            guard name != ".", name != ".." else { continue }
            let path = "\(folder)/\(name)"
            if entry.pointee.d_type == UInt8(DT_DIR) {
                try remove(folder: path)
            } else if unlink(path) != 0 {
                throw failure("removing \(path)")
            }
        }
        guard rmdir(folder) == 0 else { throw failure("removing \(folder)") }
    }

    /// Returns the bytes of a file; none if it is missing.
    static func read(_ path: String) throws(BenchError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return [] }
            throw failure("opening \(path)")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw failure("reading \(path)") }
            if count == 0 { return bytes }
            bytes.append(contentsOf: buffer[..<count])
        }
    }

    /// Replaces the contents of the file by the text.
    static func write(
        _ text: String, to path: String, mode: mode_t = 0o644
    ) throws(BenchError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("opening \(path)") }
        defer { close(descriptor) }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw failure("writing \(path)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Returns the error for an operation, with the text of `errno`.
    static func failure(_ doing: String) -> BenchError {
        let cause = strerror(errno).map { String(cString: $0) } ?? "unknown"
        return BenchError("\(doing): \(cause)")
    }
}

/// Writes a line to standard output without buffering, so that a pipe shows the progress.
func say(_ line: String) { put(line + "\n", to: STDOUT_FILENO) }

/// Writes the text; stops silently if the reader has closed its end.
func put(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count <= 0, errno != EINTR { return }
        rest = rest.dropFirst(max(0, count))
    }
}

/// The speed of the disk beside the figures taken on it: 4 KiB appended and synced at a time.
struct DiskSpeed {
    static let syncs = 1_000

    let syncsPerSecond: Double
    let latencies: Latencies

    init(in folder: String, nanoseconds: () -> UInt64) throws(BenchError) {
        let path = folder + "/fdatasync"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Files.failure("opening \(path)") }
        defer {
            close(descriptor)
            unlink(path)
        }
        let page = [UInt8](repeating: 0x67, count: 4_096)
        var latencies = Latencies()
        let began = nanoseconds()
        var last = began
        for _ in 0..<Self.syncs {
            guard write(descriptor, page, page.count) == page.count, fdatasync(descriptor) == 0
            else { throw Files.failure("writing \(path)") }
            let now = nanoseconds()
            latencies.record(nanoseconds: now - last)
            last = now
        }
        self.latencies = latencies
        syncsPerSecond = Double(Self.syncs) * 1e9 / Double(last - began)
    }
}
