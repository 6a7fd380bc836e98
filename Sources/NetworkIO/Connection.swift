import CLibuv
import Glibc

/// Who is told what happens on a connection, always on the loop's thread.
package protocol ConnectionDelegate: AnyObject {
    /// The bytes are valid until this returns: the buffer is the loop's and read into again.
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer)

    /// The peer writes no more, though it may still read: answer what is left, then
    /// `closeAfterFlush`. Nothing is closed for you.
    func connectionDidReachEnd(_ connection: Connection)

    /// The kernel took queued bytes; so many are left.
    func connection(_ connection: Connection, didDrainTo queuedBytes: Int)

    /// The end, exactly once and after everything else. No error: this side closed it.
    func connectionDidClose(_ connection: Connection, error: NetworkError?)
}

/// A TCP connection, confined to its loop's thread.
///
/// The loop keeps it alive until it is closed, and it keeps its delegate alive until that has been
/// told: an object whose only tie to the world is a connection lives exactly as long as that.
/// Dropping a reference closes nothing.
// SAFETY: owned by the thread of `loop`; every entry checks that it is the one. Sendable so that
// an actor which runs on that loop can hold it.
package final class Connection: LoopHandle, @unchecked Sendable {
    /// How long `closeAfterFlush` waits for a peer that reads nothing or will not close its end.
    private static let closingMillisecondsMax: UInt64 = 5_000

    /// What the owner wants once the output is empty.
    private enum Ending { case none, endWriting, close }

    /// Counts up on each loop from 1.
    package let id: UInt64
    package let peerAddress: SocketAddress

    /// Reading starts when it is set, so nothing that the peer says is missed.
    package var delegate: (any ConnectionDelegate)? { didSet { updateReading() } }

    /// Bytes that were written and not yet given to the kernel.
    package var queuedBytes: Int {
        output.count + (layerState?.plain.count ?? 0)
            + (isWriting ? uv_stream_get_write_queue_size(stream) : 0)
    }

    /// What the bytes pass through, if anything: set before the first of them.
    private var layerState: TLSLayerState?

    /// As it goes onto the wire.
    private var output = OutputBuffer()
    private var isAwaitingFlush = false

    /// What libuv is writing, and the request it writes it with; untouched while `isWriting`.
    private var outgoing = OutputBuffer()
    private let writeRequest = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
    private var isWriting = false

    /// Whether the other end has said anything.
    package private(set) var hasRead = false
    private var isReading = false
    private var isPaused = false
    private var hasReachedEnd = false
    private var ending = Ending.none
    private var hasEndedWriting = false
    private var closingDeadline: Timer?
    private var failure: NetworkError?

    /// Takes over a connected handle.
    init(owning memory: UnsafeMutableRawPointer, peer: SocketAddress, on loop: EventLoop) {
        id = loop.nextConnectionID()
        peerAddress = peer
        super.init(owning: memory, on: loop)
    }

    deinit { writeRequest.deallocate() }

    /// Queues the bytes, to leave in one system call with all that is written in this turn.
    ///
    /// They are dropped when the connection is closing: its owner is told of that.
    package func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0) } }

    /// The same for bytes that the caller has in another form.
    package func write(_ bytes: UnsafeRawBufferPointer) {
        loop.checkConfined()
        guard !isClosing, ending == .none else { return }
        if let layerState {
            layerState.plain.append(bytes)
        } else {
            output.append(bytes)
        }
        awaitFlush()
    }

    /// Leaves what the peer sends in the kernel's buffers, and so slows the peer down.
    ///
    /// Writing goes on. While nothing is read or written, a peer's death goes unnoticed too.
    package func pauseReading() {
        isPaused = true
        updateReading()
    }

    package func resumeReading() {
        isPaused = false
        updateReading()
    }

    /// Tells the peer, after all that was written, that no more will come; reading goes on.
    package func endWriting() {
        loop.checkConfined()
        guard !isClosing, ending == .none else { return }
        ending = .endWriting
        awaitFlush()
    }

    /// Closes in good order: everything queued goes out first.
    ///
    /// What the peer still sends is read and thrown away until it closes its end too, since
    /// closing a socket with unread bytes makes the kernel reset the connection, and that may
    /// destroy the last words on their way. All of it takes at most 5 seconds.
    package func closeAfterFlush() {
        loop.checkConfined()
        guard !isClosing, ending != .close else { return }
        ending = .close
        awaitFlush()
        updateReading()
        let limit = Self.closingMillisecondsMax
        closingDeadline = Timer(on: loop, afterMilliseconds: limit) { [self] in
            close(because: queuedBytes > 0 ? .timedOut : nil)
        }
    }

    /// Closes at once, losing what is queued; harmless when repeated.
    package func close() { close(because: nil) }

    private func close(because error: NetworkError?) {
        guard !isClosing else { return }
        failure = error
        closingDeadline?.cancel()
        closingDeadline = nil
        closeHandle()
    }

    override func loopDidStop() { close() }

    override func handleDidClose() {
        output.removeAll()
        outgoing.removeAll()
        layerState?.tell(.failure(failure ?? .reset))
        layerState = nil
        let told = delegate
        delegate = nil
        told?.connectionDidClose(self, error: failure)
    }
}

// MARK: - Reading

extension Connection {
    private var stream: UnsafeMutablePointer<uv_stream_t> {
        memory.assumingMemoryBound(to: uv_stream_t.self)
    }

    private var isOwnerReading: Bool { delegate != nil && !isPaused && ending != .close }

    /// The one place where reading starts and stops.
    private func updateReading() {
        guard !isClosing else { return }
        loop.checkConfined()
        let isWanted = !hasReachedEnd && (ending == .close || isTLSRising || isOwnerReading)
        // The TLS layer may hold what the owner did not want to read before.
        if layerState != nil, isOwnerReading { awaitFlush() }
        guard isWanted != isReading else { return }
        isReading = isWanted
        guard isWanted else {
            uv_read_stop(stream)
            return
        }
        let code = uv_read_start(
            stream,
            { handle, _, buffer in
                guard let data = handle?.pointee.data else { return }
                let loop = Unmanaged<Connection>.fromOpaque(data).takeUnretainedValue().loop
                buffer?.pointee = uv_buf_t(
                    base: loop.readBuffer.baseAddress?.assumingMemoryBound(to: CChar.self),
                    len: loop.readBytes)
            },
            { stream, count, buffer in
                guard let data = stream?.pointee.data else { return }
                let connection = Unmanaged<Connection>.fromOpaque(data).takeUnretainedValue()
                connection.onRead(count, buffer?.pointee.base)
            })
        if code < 0 { close(because: NetworkError(code, doing: "reading from \(peerAddress)")) }
    }

    /// The end and an error may come without a buffer.
    private func onRead(_ count: Int, _ base: UnsafeMutablePointer<CChar>?) {
        if count > 0 {
            guard ending != .close else { return }
            hasRead = true
            let bytes = UnsafeRawBufferPointer(start: base, count: count)
            if let layerState { return receive(bytes, through: layerState) }
            delegate?.connection(self, didRead: bytes)
        } else if count == Int(UV_EOF.rawValue) {
            // An end that the TLS layer has not announced may be somebody else's doing.
            if let layerState, ending != .close, !hasReachedEnd {
                return close(because: layerState.tls.isUp ? .reset : .distrusted(.hungUp))
            }
            hasReachedEnd = true
            updateReading()
            if ending == .close {
                finishIfFlushed()
            } else {
                delegate?.connectionDidReachEnd(self)
            }
        } else if count < 0 {
            close(because: NetworkError(Int32(count), doing: "reading from \(peerAddress)"))
        }
    }
}

// MARK: - The shield

extension Connection {
    /// Has everything pass through a TLS layer; before the delegate is set, and before any write.
    ///
    /// - Parameters:
    ///   - timeoutMilliseconds: how long it may take until the TLS layer is up.
    ///   - then: called once. After a failure the connection is closed.
    package func raise(
        _ tls: any TLSLayer, timeoutMilliseconds: UInt64,
        then: @escaping (Result<Void, NetworkError>) -> Void
    ) {
        loop.checkConfined()
        precondition(delegate == nil && layerState == nil, "a shield comes before all else")
        let layerState = TLSLayerState(tls, then)
        guard !isClosing else { return layerState.tell(.failure(.reset)) }
        self.layerState = layerState
        layerState.expire(after: timeoutMilliseconds, on: loop) { [self] in
            close(because: .distrusted(.late))
        }
        do throws(HandshakeError) {
            try tls.begin()
        } catch {
            return give(up: layerState, because: error)
        }
        sendWire(of: layerState)
        updateReading()
    }

    private var isTLSRising: Bool { layerState.map { !$0.tls.isUp } ?? false }

    private func receive(_ wire: UnsafeRawBufferPointer, through layerState: TLSLayerState) {
        let wasUp = layerState.tls.isUp
        do throws(HandshakeError) {
            try layerState.tls.receive(wire)
        } catch {
            return give(up: layerState, because: error)
        }
        layerState.mayHoldMore = true
        sendWire(of: layerState)
        if !wasUp, layerState.tls.isUp {
            layerState.tell(.success(()))
            updateReading()
        }
        open(layerState)
    }

    /// Hands the owner what the TLS layer has for it, for as long as it wants to read.
    private func open(_ layerState: TLSLayerState) {
        guard layerState.tls.isUp else { return }
        while isOwnerReading, !isClosing, !hasReachedEnd {
            do throws(HandshakeError) {
                let plain = try layerState.tls.open()
                layerState.mayHoldMore = !plain.isEmpty
                if plain.isEmpty { break }
                delegate?.connection(self, didRead: plain)
            } catch {
                return give(up: layerState, because: error)
            }
        }
        guard layerState.tls.hasReachedEnd, !hasReachedEnd, isOwnerReading, !isClosing
        else { return }
        hasReachedEnd = true
        updateReading()
        delegate?.connectionDidReachEnd(self)
    }

    /// Seals all that was written in this turn at once; while libuv writes, it waits.
    private func seal(_ layerState: TLSLayerState) {
        guard !isClosing, !isWriting, layerState.tls.isUp else { return }
        do throws(HandshakeError) {
            var rest = layerState.plain.bytes(from: 0)[...]
            while !rest.isEmpty {
                let part = rest.prefix(TLSLayerState.sealedBytesMax)
                try layerState.tls.seal(UnsafeRawBufferPointer(rebasing: part))
                layerState.tls.takeWire { output.append($0) }
                rest = rest.dropFirst(part.count)
            }
            layerState.plain.removeAll()
            if ending != .none, !layerState.hasSealedEnd {
                layerState.hasSealedEnd = true
                try layerState.tls.sealEnd()
            }
        } catch {
            return give(up: layerState, because: error)
        }
        layerState.tls.takeWire { output.append($0) }
    }

    private func sendWire(of layerState: TLSLayerState) {
        layerState.tls.takeWire { output.append($0) }
        if output.count > 0 { awaitFlush() }
    }

    /// What the TLS layer has to say about it goes out if the kernel takes it at once: nobody who
    /// is refused keeps a descriptor of this process.
    private func give(up layerState: TLSLayerState, because why: HandshakeError) {
        guard !isClosing else { return }
        layerState.tls.takeWire { output.append($0) }
        if !isWriting, output.count > 0 {
            var buffer = Self.buffer(output.bytes(from: 0))
            // Nothing follows from how much of it is taken.
            _ = uv_try_write(stream, &buffer, 1)
        }
        close(because: .distrusted(why))
    }
}

// MARK: - Writing

extension Connection {
    private func awaitFlush() {
        guard !isAwaitingFlush else { return }
        isAwaitingFlush = true
        loop.needsFlush(self)
    }

    /// Called by the loop at its turn's end: gives the kernel what it takes, libuv the rest.
    func flush() {
        isAwaitingFlush = false
        if let layerState {
            if layerState.mayHoldMore { open(layerState) }
            seal(layerState)
        }
        guard !isClosing, !isWriting else { return }
        // Nothing is left of what `flushNow` gave away.
        guard output.count > 0 else { return onDrain() }
        var buffer = Self.buffer(output.bytes(from: 0))
        let taken = uv_try_write(stream, &buffer, 1)
        if Int(taken) == output.count {
            output.removeAll()
            onDrain()
        } else if taken >= 0 || taken == UV_EAGAIN.rawValue {
            writeRest(from: max(0, Int(taken)))
        } else {
            close(because: NetworkError(taken, doing: "writing to \(peerAddress)"))
        }
    }

    /// Gives the kernel what it takes now: where much is written in one turn.
    ///
    /// The owner is told of what was drained, and of an error, at the turn's end.
    package func flushNow() {
        loop.checkConfined()
        guard !isClosing, !isWriting, layerState == nil, output.count > 0 else { return }
        var buffer = Self.buffer(output.bytes(from: 0))
        let taken = uv_try_write(stream, &buffer, 1)
        if Int(taken) == output.count {
            output.removeAll()
        } else if taken > 0 {
            writeRest(from: Int(taken))
        }
    }

    private func writeRest(from start: Int) {
        swap(&output, &outgoing)
        isWriting = true
        var buffer = Self.buffer(outgoing.bytes(from: start))
        let code = uv_write(writeRequest, stream, &buffer, 1) { request, status in
            guard let data = request?.pointee.handle.pointee.data else { return }
            Unmanaged<Connection>.fromOpaque(data).takeUnretainedValue().onWritten(status)
        }
        guard code < 0 else { return }
        isWriting = false
        close(because: NetworkError(code, doing: "writing to \(peerAddress)"))
    }

    private func onWritten(_ status: Int32) {
        isWriting = false
        // Cancelled by closing: nothing was drained, and the end is told in its own place.
        guard !isClosing else { return }
        guard status == 0 else {
            return close(because: NetworkError(status, doing: "writing to \(peerAddress)"))
        }
        outgoing.removeAll()
        if output.count > 0 { awaitFlush() }
        onDrain()
    }

    private func onDrain() {
        delegate?.connection(self, didDrainTo: queuedBytes)
        finishIfFlushed()
    }

    /// Does what `ending` asks for, once nothing is left to write.
    private func finishIfFlushed() {
        guard !isClosing, ending != .none, queuedBytes == 0 else { return }
        if ending == .close, hasReachedEnd { return close() }
        guard !hasEndedWriting else { return }
        hasEndedWriting = true
        // Straight to the socket: libuv has nothing queued that a `uv_shutdown` would wait for.
        var descriptor: Int32 = -1
        uv_fileno(base, &descriptor)
        guard shutdown(descriptor, Int32(SHUT_WR)) == 0 else {
            return close(because: NetworkError(-errno, doing: "ending \(peerAddress)"))
        }
    }

    private static func buffer(_ bytes: UnsafeRawBufferPointer) -> uv_buf_t {
        // libuv's buffers are writable for reading's sake; writing leaves them alone.
        let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
        return uv_buf_t(base: base?.assumingMemoryBound(to: CChar.self), len: bytes.count)
    }
}
