import CRDT
import Chat
import Glibc
import Storage
import Testing
import Wire

/// The folder of a test, removed after it.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/grapevine-storage-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        path = try #require(made)
    }

    init(existing path: String) { self.path = path }

    deinit { remove() }

    func remove() {
        for name in names { unlink(path + "/" + name) }
        rmdir(path)
    }

    var file: String { path + "/grapevine.sqlite" }

    var names: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func bytes(of name: String) -> [UInt8] {
        let file = open(path + "/" + name, O_RDONLY)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(file, &part, part.count)
            guard count > 0 else { return bytes }
            bytes.append(contentsOf: part[..<count])
        }
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        let file = open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(file >= 0)
        defer { close(file) }
        try #require(Glibc.write(file, bytes, bytes.count) == bytes.count)
    }

    /// Returns the files that contain the text.
    func filesWith(_ text: String) -> [String] {
        names.filter { offset(of: Array(text.utf8), in: bytes(of: $0)) != nil }
    }
}

/// Returns the offset at which `needle` first occurs in `bytes`.
func offset(of needle: [UInt8], in bytes: [UInt8]) -> Int? {
    bytes.withUnsafeBytes { buffer in
        guard let start = buffer.baseAddress else { return nil }
        var place = 0
        while place + needle.count <= bytes.count {
            let left = bytes.count - place - needle.count + 1
            guard let found = memchr(start + place, Int32(needle[0]), left) else { return nil }
            if memcmp(found, needle, needle.count) == 0 { return UnsafeRawPointer(found) - start }
            place = UnsafeRawPointer(found) - start + 1
        }
        return nil
    }
}

/// The outcomes that completions on the writer's thread pass to the test's.
// SAFETY: `list` is touched under the mutex alone.
final class Outcomes: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var list: [(Int, StorageError?)] = []

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    func note(_ number: Int, _ error: StorageError?) {
        pthread_mutex_lock(mutex)
        list.append((number, error))
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    var isEmpty: Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return list.isEmpty
    }

    func wait(for count: Int) -> [(Int, StorageError?)] {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while list.count < count { pthread_cond_wait(condition, mutex) }
        return list
    }
}
