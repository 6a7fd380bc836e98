import NetworkIO

/// A connection that keeps to no protocol: it sends what it likes and reads when it likes.
final class Intruder {
    /// How much of what comes in is kept to look at; the rest is only counted.
    private static let keptBytesMax = 4_096
    /// A flood has this much ahead of the kernel.
    private static let aheadBytesMax = 128 << 10

    /// The beginning of what was read.
    private(set) var head: [UInt8] = []
    private(set) var tail: [UInt8] = []
    private(set) var readBytes = 0
    private(set) var sentBytes = 0
    private(set) var hasReachedEnd = false
    private(set) var isClosed = false
    private(set) var error: NetworkError?
    private let connection: Connection
    private var flood: [UInt8] = []
    private var floodBytesLeft = 0

    init(_ connection: Connection) {
        self.connection = connection
        connection.delegate = self
    }

    /// Whether the other side has let go.
    var isGone: Bool { isClosed || hasReachedEnd }

    func send(_ bytes: [UInt8]) {
        sentBytes += bytes.count
        connection.write(bytes)
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Sends these bytes again and again, as fast as they are taken.
    func flood(_ bytes: [UInt8], atMost count: Int = .max) {
        flood = bytes
        floodBytesLeft = count
        pour()
    }

    private func pour() {
        guard !flood.isEmpty else { return }
        while !isClosed, floodBytesLeft > 0, connection.queuedBytes < Self.aheadBytesMax {
            send(flood)
            floodBytesLeft -= min(flood.count, floodBytesLeft)
        }
    }

    /// Whether all of a flood has been taken.
    var isPoured: Bool { floodBytesLeft == 0 && connection.queuedBytes == 0 }

    /// Reads nothing from here on, or reads again.
    func setDeaf(_ isDeaf: Bool) {
        if isDeaf { connection.pauseReading() } else { connection.resumeReading() }
    }

    func endWriting() { connection.endWriting() }

    func close() { connection.close() }

    /// The last line that came, without its end.
    var lastLine: String {
        let lines = String(decoding: tail, as: UTF8.self).split(separator: "\n")
        return lines.last.map(String.init) ?? ""
    }

    /// The lines of the beginning.
    var lines: [String] {
        String(decoding: head, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

extension Intruder: ConnectionDelegate {
    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        readBytes += bytes.count
        if head.count < Self.keptBytesMax {
            head.append(contentsOf: bytes.prefix(Self.keptBytesMax - head.count))
        }
        tail = Array((tail + bytes.suffix(Self.keptBytesMax)).suffix(Self.keptBytesMax))
    }

    func connectionDidReachEnd(_ connection: Connection) {
        hasReachedEnd = true
        connection.close()
    }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) { pour() }

    func connectionDidClose(_ connection: Connection, error: NetworkError?) {
        isClosed = true
        self.error = error
    }
}
