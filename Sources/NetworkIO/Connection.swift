import CLibuv
import Glibc

/// The receiver of a connection's events, called only on the loop's thread.
package protocol ConnectionDelegate: AnyObject {
    /// Called with bytes that were read; they are valid until this returns, since the loop reads
    /// into the same buffer again.
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer)

    /// Called when the peer has ended its output, though it may still read.
    ///
    /// Write what is left, then call `closeAfterFlush`: the connection does not close itself.
    func connectionDidReachEnd(_ connection: Connection)

    /// Called when the kernel has taken queued bytes; `queuedBytes` are left.
    func connection(_ connection: Connection, didDrainTo queuedBytes: Int)

    /// Called exactly once, after everything else; without an error where this side closed.
    func connectionDidClose(_ connection: Connection, error: NetworkError?)
}

/// A TCP connection, confined to its loop's thread.
///
/// The loop keeps it alive until it is closed, and it keeps its delegate alive until that has been
/// told of the close: an object that only a connection refers to lives exactly as long. Dropping a
/// reference closes nothing.
// SAFETY: owned by the thread of `loop`; every entry checks that it is the one. Sendable so that
// an actor which runs on that loop can hold it.
package final class Connection: LoopHandle, @unchecked Sendable {
    /// How long `closeAfterFlush` waits for a peer that reads nothing or does not close its end.
    private static let closingMillisecondsMax: UInt64 = 5_000

    /// The action that the owner wants once the output is empty.
    private enum Ending { case none, endWriting, close }

    /// The number of the connection on its loop, from 1.
    package let id: UInt64
    package let peerAddress: SocketAddress

    /// Reading starts when the delegate is set, so nothing that the peer sends is missed.
    package var delegate: (any ConnectionDelegate)? { didSet { updateReading() } }

    /// Bytes that were written and that the kernel has not taken yet.
    package var queuedBytes: Int {
        output.count + (layerState?.plain.count ?? 0)
            + (isWriting ? uv_stream_get_write_queue_size(stream) : 0)
    }

    /// The TLS layer that the bytes pass through, if any; set before the first of them.
    private var layerState: TLSLayerState?

    /// Bytes in the form in which they are sent.
    private var output = OutputBuffer()
    private var isAwaitingFlush = false

    /// The bytes that libuv is writing, and the request for it; untouched while `isWriting`.
    private var outgoing = OutputBuffer()
    private let writeRequest = UnsafeMutablePointer<uv_write_t>.allocate(capacity: 1)
    private var isWriting = false

    /// Whether the peer has sent anything.
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

    /// Queues the bytes; they leave in one system call with everything else written in this turn.
    ///
    /// They are dropped when the connection is closing, which is reported to the delegate.
    package func write(_ bytes: [UInt8]) { bytes.withUnsafeBytes { write($0) } }

    /// Queues bytes that the caller has in another form.
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

    /// Stops reading, so that the peer's bytes fill the kernel's buffers and slow the peer down.
    ///
    /// Writing goes on. While nothing is read or written, only `closeIfReset` notices that the peer
    /// has reset the connection.
    package func pauseReading() {
        isPaused = true
        updateReading()
    }

    package func resumeReading() {
        isPaused = false
        updateReading()
    }

    /// Closes the connection if nothing is read and the peer has reset the connection; costs a
    /// system call while reading is paused, and after the peer's end.
    func closeIfReset() {
        if delegate != nil, !isReading, !isClosing, isReset { close(because: .reset) }
    }

    /// Ends the output after all that was written; reading goes on.
    package func endWriting() {
        loop.checkConfined()
        guard !isClosing, ending == .none else { return }
        ending = .endWriting
        awaitFlush()
    }

    /// Closes the connection after everything queued was sent.
    ///
    /// Bytes that the peer still sends are read and discarded until it closes its end too: closing
    /// a socket with unread bytes makes the kernel reset the connection, which may destroy the last
    /// bytes on their way. All of it takes at most 5 seconds.
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

    /// Closes at once and drops what is queued, in the kernel, too, where the peer has not taken
    /// all; harmless when repeated.
    package func close() { close(because: nil) }

    private func close(because error: NetworkError?) {
        guard !isClosing else { return }
        failure = error
        if isWriting { dropUnsentBytes() }
        closingDeadline?.cancel()
        closingDeadline = nil
        closeHandle()
    }

    override func loopDidStop() { close() }

    override func handleDidClose() {
        output.removeAll()
        outgoing.removeAll()
        layerState?.completeHandshake(.failure(failure ?? .reset))
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

    /// Starts or stops reading; no other code does.
    private func updateReading() {
        guard !isClosing else { return }
        loop.checkConfined()
        let isWanted = !hasReachedEnd && (ending == .close || isTLSRising || isOwnerReading)
        // The TLS layer may hold bytes that came while the owner did not read. Without them nothing
        // is to be done: an owner that resumes at each drain would keep the loop awake for ever.
        if let layerState, layerState.mayHoldMore, isOwnerReading { awaitFlush() }
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

    /// Handles the result of a read; the end and an error may come without a buffer.
    private func onRead(_ count: Int, _ base: UnsafeMutablePointer<CChar>?) {
        if count > 0 {
            guard ending != .close else { return }
            hasRead = true
            let bytes = UnsafeRawBufferPointer(start: base, count: count)
            if let layerState { return receive(bytes, through: layerState) }
            delegate?.connection(self, didRead: bytes)
        } else if count == Int(UV_EOF.rawValue) {
            // The TLS layer has not announced this end, so a third party may have caused it.
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

// MARK: - TLS

extension Connection {
    /// Passes everything through a TLS layer; call it before the delegate is set and before any
    /// write.
    ///
    /// - Parameters:
    ///   - timeoutMilliseconds: the most time that the handshake may take.
    ///   - then: called once. After a failure the connection is closed.
    package func raise(
        _ tls: any TLSLayer, timeoutMilliseconds: UInt64,
        then: @escaping (Result<Void, NetworkError>) -> Void
    ) {
        loop.checkConfined()
        precondition(delegate == nil && layerState == nil, "a layer comes before all else")
        let layerState = TLSLayerState(tls, then)
        guard !isClosing else { return layerState.completeHandshake(.failure(.reset)) }
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
            layerState.completeHandshake(.success(()))
            updateReading()
        }
        open(layerState)
    }

    /// Passes decrypted bytes to the owner for as long as it reads.
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

    /// Encrypts everything that was written in this turn; waits while libuv writes.
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

    /// Closes the connection after an error of the TLS layer; the layer's last bytes are sent only
    /// if the kernel takes them at once, so that a refused peer does not keep a descriptor of this
    /// process.
    private func give(up layerState: TLSLayerState, because why: HandshakeError) {
        guard !isClosing else { return }
        layerState.tls.takeWire { output.append($0) }
        if !isWriting, output.count > 0 {
            var buffer = Self.buffer(output.bytes(from: 0))
            // The result does not matter: the connection is closed in any case.
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

    /// Writes what the kernel takes, and leaves the rest to libuv; called at the turn's end.
    func flush() {
        isAwaitingFlush = false
        if let layerState {
            if layerState.mayHoldMore { open(layerState) }
            seal(layerState)
        }
        guard !isClosing, !isWriting else { return }
        // `flushNow` may have written everything already.
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

    /// Writes what the kernel takes now; for turns in which much is written.
    ///
    /// The delegate is told of drained bytes, and of an error, at the turn's end.
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
        // Cancelled by closing: nothing was drained, and `handleDidClose` reports the end.
        guard !isClosing else { return }
        guard status == 0 else {
            return close(because: NetworkError(status, doing: "writing to \(peerAddress)"))
        }
        outgoing.removeAll()
        let isMoreWaiting = output.count > 0 || (layerState?.plain.count ?? 0) > 0
        if isMoreWaiting { awaitFlush() }
        onDrain()
    }

    private func onDrain() {
        delegate?.connection(self, didDrainTo: queuedBytes)
        finishIfFlushed()
    }

    /// Ends the output or closes, as `ending` says, once nothing is left to write.
    private func finishIfFlushed() {
        guard !isClosing, ending != .none, queuedBytes == 0 else { return }
        if ending == .close, hasReachedEnd { return close() }
        guard !hasEndedWriting else { return }
        hasEndedWriting = true
        // Directly on the socket: libuv has nothing queued that a `uv_shutdown` would wait for.
        guard shutdown(descriptor, Int32(SHUT_WR)) == 0 else {
            return close(because: NetworkError(-errno, doing: "ending \(peerAddress)"))
        }
    }

    private static func buffer(_ bytes: UnsafeRawBufferPointer) -> uv_buf_t {
        // libuv declares its buffers writable because reads need that; writes do not change them.
        let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
        return uv_buf_t(base: base?.assumingMemoryBound(to: CChar.self), len: bytes.count)
    }
}
