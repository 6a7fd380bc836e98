import CSQLite
import Glibc
import Testing

/// A disk that fails when a test says so, for the files of one folder.
///
/// Faults occur below SQLite, where the system's would; files of other folders are not affected, so
/// that tests may run beside each other.
// SAFETY: everything in it is under the mutex.
final class FaultyDisk: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var writesLeft: Int?
    /// The errno with which writes are refused.
    private var error = ENOSPC
    private var failsSync = false
    private var refusals = 0
    /// The folder whose reserve stands for free space on this disk, and the number of writes in it.
    private var reserved: (folder: TemporaryFolder, writes: Int)?

    init(_ folder: TemporaryFolder) {
        pthread_mutex_init(mutex, nil)
        FaultyFiles.all.add(self, folder.path)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    private func locked<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Accepts so many more writes, and none after them; nil for no limit.
    func allow(writes: Int?, thenFailingWith error: Int32 = ENOSPC) {
        locked {
            writesLeft = writes
            self.error = error
        }
    }

    /// The errno of the last write that was refused; nil where none was, or where SQLite has a code
    /// of its own for it.
    var lastError: Int32? { locked { refusals > 0 && error != ENOSPC ? error : nil } }

    /// Accepts so many writes once the reserve in the folder is given up.
    func onGivenUp(_ folder: TemporaryFolder, allow writes: Int) {
        locked { reserved = (folder, writes) }
    }

    /// Fails the next sync, and only that.
    func failSync() { locked { failsSync = true } }

    /// The number of writes and syncs that have failed.
    var failures: Int { locked { refusals } }

    func takesWrite() -> Bool {
        locked {
            guard var left = writesLeft else { return true }
            if left == 0, let room = reserved, !room.folder.names.contains("reserve") {
                left = room.writes
                reserved = nil
            }
            writesLeft = max(0, left - 1)
            if left == 0 { refusals += 1 }
            return left > 0
        }
    }

    func takesSync() -> Bool {
        locked {
            defer { failsSync = false }
            if failsSync { refusals += 1 }
            return !failsSync
        }
    }
}

/// SQLite's file system with the faults of faulty disks.
// SAFETY: everything in it is under the mutex; what it hands to SQLite is never freed.
final class FaultyFiles: @unchecked Sendable {
    static let all = FaultyFiles()

    private typealias File = UnsafeMutablePointer<sqlite3_file>
    private typealias Methods = UnsafePointer<sqlite3_io_methods>

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let system: UnsafeMutablePointer<sqlite3_vfs>?
    private var disks: [(folder: String, disk: FaultyDisk)] = []
    private var files: [File: (disk: FaultyDisk, methods: Methods)] = [:]
    private var faulty: [Methods: Methods] = [:]

    private init() {
        pthread_mutex_init(mutex, nil)
        system = sqlite3_vfs_find(nil)
        guard let system else { return }
        let made = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        made.initialize(to: system.pointee)
        made.pointee.zName = UnsafePointer(strdup("faulty"))
        made.pointee.xOpen = { FaultyFiles.all.open($1, $2, $3, $4) }
        sqlite3_vfs_register(made, 1)
    }

    private func locked<Value>(_ body: () -> Value) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    func add(_ disk: FaultyDisk, _ folder: String) { locked { disks.append((folder, disk)) } }

    private func open(
        _ name: UnsafePointer<CChar>?, _ file: File?, _ flags: Int32,
        _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        let code = system?.pointee.xOpen(system, name, file, flags, outFlags) ?? SQLITE_ERROR
        guard code == SQLITE_OK, let name, let file, let methods = file.pointee.pMethods else {
            return code
        }
        let path = String(cString: name)
        locked {
            guard let disk = disks.last(where: { path.hasPrefix($0.folder + "/") })?.disk else {
                return
            }
            files[file] = (disk, methods)
            file.pointee.pMethods = faultyMethods(like: methods)
        }
        return code
    }

    private func faultyMethods(like methods: Methods) -> Methods {
        if let known = faulty[methods] { return known }
        let made = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        made.initialize(to: methods.pointee)
        made.pointee.xClose = { FaultyFiles.all.close($0) }
        made.pointee.xWrite = { FaultyFiles.all.write($0, $1, $2, $3) }
        made.pointee.xFileControl = { FaultyFiles.all.control($0, $1, $2) }
        made.pointee.xSync = { FaultyFiles.all.sync($0, $1) }
        faulty[methods] = UnsafePointer(made)
        return UnsafePointer(made)
    }

    private func close(_ file: File?) -> Int32 {
        guard let file, let entry = locked({ files.removeValue(forKey: file) }) else {
            return SQLITE_MISUSE
        }
        return entry.methods.pointee.xClose(file)
    }

    private func write(
        _ file: File?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64
    ) -> Int32 {
        guard let file, let entry = locked({ files[file] }) else { return SQLITE_MISUSE }
        guard entry.disk.takesWrite() else {
            // `SQLITE_IOERR_WRITE`.
            return entry.disk.lastError == nil ? SQLITE_FULL : SQLITE_IOERR | 3 << 8
        }
        return entry.methods.pointee.xWrite(file, bytes, count, offset)
    }

    private func control(
        _ file: File?, _ operation: Int32, _ argument: UnsafeMutableRawPointer?
    ) -> Int32 {
        guard let file, let entry = locked({ files[file] }) else { return SQLITE_MISUSE }
        if operation == SQLITE_FCNTL_LAST_ERRNO, let error = entry.disk.lastError {
            argument?.storeBytes(of: error, as: Int32.self)
            return SQLITE_OK
        }
        return entry.methods.pointee.xFileControl(file, operation, argument)
    }

    private func sync(_ file: File?, _ flags: Int32) -> Int32 {
        guard let file, let entry = locked({ files[file] }) else { return SQLITE_MISUSE }
        // `SQLITE_IOERR_FSYNC`.
        guard entry.disk.takesSync() else { return SQLITE_IOERR | 4 << 8 }
        return entry.methods.pointee.xSync(file, flags)
    }
}
