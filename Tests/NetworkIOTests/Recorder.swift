import NetworkIO

/// A delegate that records everything it is told.
final class Recorder: ConnectionDelegate, Sendable {
    struct Seen: Sendable {
        var bytes: [UInt8] = []
        var reads = 0
        var ends = 0
        var drains: [Int] = []
        var closes: [NetworkError?] = []
    }

    let seen = Watched(Seen())
    let answer = Lock<(@Sendable (Connection, [UInt8]) -> Void)?>(nil)
    let atEnd = Lock<(@Sendable (Connection) -> Void)?>(nil)
    let atDrain = Lock<(@Sendable (Connection) -> Void)?>(nil)

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        let copy = [UInt8](bytes)
        seen.change { seen in
            seen.bytes += copy
            seen.reads += 1
        }
        answer.withLock { $0 }?(connection, copy)
    }

    func connectionDidReachEnd(_ connection: Connection) {
        seen.change { $0.ends += 1 }
        atEnd.withLock { $0 }?(connection)
    }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {
        seen.change { $0.drains.append(queuedBytes) }
        atDrain.withLock { $0 }?(connection)
    }

    func connectionDidClose(_ connection: Connection, error: NetworkError?) {
        seen.change { $0.closes.append(error) }
    }
}
