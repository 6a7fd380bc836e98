import Glibc

/// The memory of a process as the kernel reports it, in bytes.
struct NodeMemory {
    /// The resident memory at this moment.
    let resident: Int
    /// The greatest resident memory since `forgetPeak`.
    let peak: Int

    init(of process: ChildProcess) throws(BenchError) {
        let text = String(
            decoding: try Files.read("/proc/\(process.processID)/status"), as: UTF8.self)
        func bytes(_ key: String) -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix(key) }
            let words = line?.split { $0 == "\t" || $0 == " " } ?? []
            return words.count > 1 ? (Int(words[1]) ?? 0) * 1_024 : 0
        }
        resident = bytes("VmRSS:")
        peak = bytes("VmHWM:")
    }

    /// Resets the peak.
    static func forgetPeak(of process: ChildProcess) throws(BenchError) {
        let path = "/proc/\(process.processID)/clear_refs"
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Files.failure("opening \(path)") }
        defer { close(descriptor) }
        guard write(descriptor, "5", 1) == 1 else { throw Files.failure("writing \(path)") }
    }

    /// Returns the number of open descriptors.
    static func descriptors(of process: ChildProcess) -> Int {
        guard let stream = opendir("/proc/\(process.processID)/fd") else { return 0 }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        return max(0, count - 2)
    }

    /// Returns the processor time that the process has used, in milliseconds.
    static func cpuMilliseconds(of process: ChildProcess) throws(BenchError) -> Int {
        let text = String(
            decoding: try Files.read("/proc/\(process.processID)/stat"), as: UTF8.self)
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else {
            throw BenchError("/proc/\(process.processID)/stat has another form than expected")
        }
        return (user + system) * 1_000 / sysconf(Int32(_SC_CLK_TCK))
    }
}
