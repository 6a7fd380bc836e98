import Glibc
import Storage

/// A database whose reading thread is the test's.
// SAFETY: used by the test's thread; what the writer's brings waits under the mutex.
final class TestDatabase: @unchecked Sendable {
    private let database: Database
    private let mail: Mail
    private let isLogged: Bool

    init(
        folder: String, reserve: Reserve? = nil, writeLog limits: WriteLogLimits = .none
    ) throws {
        let mail = Mail()
        self.mail = mail
        isLogged = limits != .none
        // Without a write log, the writer reports only that it has stored.
        let isInline = limits == .none
        database = try Database(folder: folder, reserve: reserve, writeLog: limits) { body in
            if isInline { body() } else { mail.post(body) }
        }
    }

    /// The database itself, for calls that this type does not have.
    var inner: Database { database }

    var reader: Reader { database.reader }

    var writer: Writer { database.writer }

    /// Waits for the next work that the writer's thread posts, and does it.
    func bringMail() { mail.wait()() }

    func close() { database.close() }

    func submit(_ batch: WriteBatch, then: @escaping @Sendable (StorageError?) -> Void) {
        database.submit(batch, then: then)
    }

    /// Stores the batch and waits for the disk.
    func store(_ batch: WriteBatch) throws {
        let outcomes = Outcomes()
        database.submit(batch) { outcomes.note(0, $0) }
        while isLogged, outcomes.isEmpty { mail.wait()() }
        if let error = outcomes.wait(for: 1)[0].1 { throw error }
    }
}

extension WriteLogLimits {
    /// Limits with memtables so small that a test sees many of them, in all states.
    static let small: WriteLogLimits = {
        var limits = WriteLogLimits()
        limits.recordsMax = 7
        limits.batchBytesMax = 1 << 20
        limits.sliceRecordsMin = 3
        limits.idleMilliseconds = 60_000
        return limits
    }()

    static let kinds = [WriteLogLimits.none, .small, .standard]
}

/// A queue of work from one thread to another.
// SAFETY: `waiting` is touched under the mutex alone.
private final class Mail: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var waiting: [@Sendable () -> Void] = []

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

    func post(_ body: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        waiting.append(body)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    func wait() -> @Sendable () -> Void {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while waiting.isEmpty { pthread_cond_wait(condition, mutex) }
        return waiting.removeFirst()
    }
}
