import CLibuv
import CSystem
import Glibc

/// A libuv loop on one thread: an executor for actors, and the home of connections and timers.
///
/// A turn handles what the sockets have, then timers, then the jobs and work that were handed over,
/// then the work registered for the turn's end; then it makes one write for each connection that
/// was written to, and runs the work that waited for these writes. Then the loop sleeps until
/// something happens. Whatever the turn's end starts is done without sleeping in between.
///
/// The loop is woken by an eventfd under a `uv_poll_t`. `uv_async_send` of libuv 1.44.2 keeps the
/// woken loop spinning until the sender has left the call (82 µs against 7).
///
/// Everything that lives on a loop (connections, listeners, timers, signals) is made and used on
/// its thread, or before the thread calls `run`.
// SAFETY: everything but `mailbox` and `phase` belongs to the thread that calls `run()`; before
// that, to the one that made the loop.
package final class EventLoop: @unchecked Sendable {
    /// The most times that a turn looks for jobs: jobs that keep making jobs must not starve the
    /// sockets.
    private static let roundsPerTurnMax = 16

    /// The most times that the end of `run` closes what the closing itself has opened.
    private static let closingRoundsMax = 64

    /// The number of items above which an emptied mailbox gives its memory back.
    private static let spareItemsMax = 16_384

    /// The most bytes of one read; connections of a loop share one buffer, as only one is read at a
    /// time.
    package static let readBytesMax = 64 * 1024

    /// The bytes of one read while memory is tight, so that less of what many connections send at
    /// once has to be kept.
    package static let readBytesTight = 4 * 1024

    private enum Phase { case fresh, running, ended }

    let raw: UnsafeMutablePointer<uv_loop_t>
    let readBuffer: UnsafeMutableRawBufferPointer
    /// The bytes that a connection reads at a time, from the next read on.
    package var readBytes = EventLoop.readBytesMax {
        didSet { precondition((1...Self.readBytesMax).contains(readBytes), "fits the buffer") }
    }
    private let wakeDescriptor: Int32
    private let waker = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
    private let prepare = UnsafeMutablePointer<uv_prepare_t>.allocate(capacity: 1)
    private let idle = UnsafeMutablePointer<uv_idle_t>.allocate(capacity: 1)

    private let phase = Lock(Phase.fresh)
    private let mailbox = Lock(Mailbox())
    private var spareItems: [Mailbox.Item] = []

    private var turnEndWork: [() -> Void] = []
    private var afterFlushWork: [() -> Void] = []
    private var unflushed: [Connection] = []
    private var spareConnections: [Connection] = []
    private var connectionsMade: UInt64 = 0
    /// The lookups of host names.
    var lookups = NameLookups()

    package init() throws(NetworkError) {
        wakeDescriptor = csystem_event_open()
        try NetworkError.check(wakeDescriptor, doing: "opening an eventfd")
        raw = .allocate(capacity: 1)
        let code = uv_loop_init(raw)
        guard code == 0 else {
            Glibc.close(wakeDescriptor)
            raw.deallocate()
            throw NetworkError(code, doing: "making an event loop")
        }
        readBuffer = .allocate(byteCount: Self.readBytesMax, alignment: 16)
        raw.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        uv_prepare_init(raw, prepare)
        uv_prepare_start(prepare) { handle in
            guard let data = handle?.pointee.loop.pointee.data else { return }
            Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue().endTurn()
        }
        uv_idle_init(raw, idle)
        let polled = uv_poll_init(raw, waker, wakeDescriptor)
        precondition(polled == 0, "an eventfd can be polled: \(polled)")
        uv_poll_start(waker, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            guard let data = handle?.pointee.loop.pointee.data else { return }
            let loop = Unmanaged<EventLoop>.fromOpaque(data).takeUnretainedValue()
            csystem_event_clear(loop.wakeDescriptor)
        }
        for handle in ownHandles { handle.pointee.data = nil }
    }

    deinit {
        if phase.withLock({ $0 }) != .ended { closeLoop() }
        // Only here, so that a late `post` never writes to a descriptor that was reused.
        Glibc.close(wakeDescriptor)
    }

    /// Runs the loop on the calling thread until `stop()`.
    ///
    /// Then everything that is still open is closed and reported to its owners before this returns.
    /// A loop runs once. Jobs that reach it afterwards never run.
    package func run() {
        phase.withLock { phase in
            precondition(phase == .fresh, "a loop runs once")
            phase = .running
        }
        csystem_set_current_loop(Unmanaged.passUnretained(self).toOpaque())
        LoopTurns(of: self).run { [self] in
            uv_run(raw, UV_RUN_DEFAULT)
            closeEverything()
        }
        phase.withLock { $0 = .ended }
        csystem_set_current_loop(nil)
    }

    /// Ends `run()` after the work posted so far; callable from any thread.
    ///
    /// Bytes that the kernel does not take at once are lost: a connection that must send something
    /// first has to be closed with `closeAfterFlush` before.
    package nonisolated func stop() {
        post { uv_stop(self.raw) }
    }

    /// Hands work to the loop, from any thread; the work of each thread runs in the order it was
    /// posted.
    package nonisolated func post(_ work: @escaping @Sendable () -> Void) {
        put(.work(work))
    }

    /// Registers `work` to be called at the end of every turn, for as long as the loop runs.
    package func onTurnEnd(_ work: @escaping () -> Void) {
        checkConfined()
        turnEndWork.append(work)
    }

    /// Registers `work` to be called once, as soon as everything written in this turn was given to
    /// the kernel.
    ///
    /// Several are called in the order of their registration.
    package func afterFlush(_ work: @escaping () -> Void) {
        checkConfined()
        afterFlushWork.append(work)
    }

    /// Monotonic time in nanoseconds, from an arbitrary zero.
    package var nanoseconds: UInt64 { Self.monotonicNanoseconds }

    /// The same time, for threads that run no loop.
    package static var monotonicNanoseconds: UInt64 { uv_hrtime() }

    /// The wall clock, in milliseconds since 1970: it may jump either way.
    package static func wallMilliseconds() -> UInt64 {
        var time = timespec()
        let code = clock_gettime(CLOCK_REALTIME, &time)
        precondition(code == 0, "Linux always has a CLOCK_REALTIME")
        // A clock set before 1970 reads as 1970.
        let milliseconds = time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
        return UInt64(max(0, milliseconds))
    }

    /// Whether the caller runs on this loop's thread.
    package nonisolated var isCurrent: Bool {
        csystem_current_loop() == Unmanaged.passUnretained(self).toOpaque()
    }

    /// Traps on a thread that may not touch what lives on this loop.
    @inline(__always)
    func checkConfined() {
        if isCurrent { return }
        precondition(phase.withLock { $0 } == .fresh, "not on the thread of this event loop")
    }

    func put(_ item: Mailbox.Item) {
        let isFirst = mailbox.withLock { $0.append(item) }
        // On the loop's own thread, the turn's end looks into the mailbox anyway.
        if isFirst, !isCurrent { csystem_event_signal(wakeDescriptor) }
    }

    /// Registers a connection that is to be written to at the turn's end.
    func needsFlush(_ connection: Connection) { unflushed.append(connection) }

    func nextConnectionID() -> UInt64 {
        connectionsMade += 1
        return connectionsMade
    }
}

// MARK: - The turn's end

extension EventLoop {
    private func endTurn() {
        runMailbox()
        for work in turnEndWork { work() }
        flush()
        runAfterFlush()
        // An active idle handle keeps the poll from sleeping, so that what was made just now runs
        // first.
        let isMore = !unflushed.isEmpty || !afterFlushWork.isEmpty
        if isMore || mailbox.withLock({ $0.isArmed }) {
            uv_idle_start(idle) { _ in }
        } else {
            uv_idle_stop(idle)
        }
    }

    private func runMailbox() {
        var items: [Mailbox.Item] = []
        swap(&items, &spareItems)
        for _ in 0..<Self.roundsPerTurnMax {
            mailbox.withLock { $0.exchange(&items) }
            if items.isEmpty { break }
            for item in items {
                switch item {
                case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
                case .work(let work): work()
                }
            }
            items.removeAll(keepingCapacity: items.count <= Self.spareItemsMax)
        }
        swap(&items, &spareItems)
    }

    private func runAfterFlush() {
        guard !afterFlushWork.isEmpty else { return }
        var works: [() -> Void] = []
        swap(&works, &afterFlushWork)
        for work in works { work() }
    }

    /// Writes the connections' output; what is written while this runs waits for the next turn's
    /// end.
    private func flush() {
        swap(&unflushed, &spareConnections)
        for connection in spareConnections { connection.flush() }
        spareConnections.removeAll(keepingCapacity: true)
    }
}

// MARK: - The end of the loop

extension EventLoop {
    /// The handles that the loop itself needs; they have no owner to tell.
    private var ownHandles: [UnsafeMutablePointer<uv_handle_t>] {
        let handles: [UnsafeMutableRawPointer] = [.init(waker), .init(prepare), .init(idle)]
        return handles.map { $0.assumingMemoryBound(to: uv_handle_t.self) }
    }

    private func closeEverything() {
        for _ in 0..<Self.closingRoundsMax {
            let handles = openHandles()
            if handles.isEmpty, !mailbox.withLock({ $0.isArmed }) { break }
            for handle in handles { handle.loopDidStop() }
            uv_run(raw, UV_RUN_NOWAIT)
        }
        // Jobs that keep making jobs are left behind; handles cannot be.
        precondition(openHandles().isEmpty, "nobody opens handles on a stopped loop for ever")
        closeLoop()
    }

    /// The milliseconds between two calls of `closeResetConnections`.
    package static let resetCheckMilliseconds: UInt64 = 1_000

    /// Closes the connections that their peers have reset while reading was paused; libuv notices a
    /// reset only while it reads or writes.
    ///
    /// The call costs a system call for each connection whose reading is paused.
    package func closeResetConnections() {
        checkConfined()
        for handle in openHandles() { (handle as? Connection)?.closeIfReset() }
    }

    private func openHandles() -> [LoopHandle] {
        var handles: [LoopHandle] = []
        withUnsafeMutablePointer(to: &handles) { handles in
            uv_walk(
                raw,
                { handle, handles in
                    guard let data = handle?.pointee.data, let handles else { return }
                    let owner = Unmanaged<LoopHandle>.fromOpaque(data).takeUnretainedValue()
                    handles.assumingMemoryBound(to: [LoopHandle].self).pointee.append(owner)
                }, handles)
        }
        return handles
    }

    /// Closes the loop's own handles; no other is open.
    private func closeLoop() {
        for handle in ownHandles { uv_close(handle, nil) }
        uv_run(raw, UV_RUN_DEFAULT)
        let code = uv_loop_close(raw)
        precondition(code == 0, "every handle of the loop has been closed: \(code)")
        waker.deallocate()
        prepare.deallocate()
        idle.deallocate()
        raw.deallocate()
        readBuffer.deallocate()
    }
}
