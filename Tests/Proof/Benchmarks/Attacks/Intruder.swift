import NetworkIO

/// A connection that follows no protocol: it sends any bytes, and reads or does not.
final class Intruder {
    /// The limit of received bytes that are kept at either end; the rest is only counted.
    private static let keptBytesMax = 4_096
    /// The number of queued bytes below which a flood writes more.
    private static let aheadBytesMax = 128 << 10

    /// The beginning of the received bytes.
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

    /// Whether the other side has closed the connection.
    var isGone: Bool { isClosed || hasReachedEnd }

    func send(_ bytes: [UInt8]) {
        sentBytes += bytes.count
        connection.write(bytes)
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Sends these bytes repeatedly, as fast as they are accepted.
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

    /// Whether all of a flood has been sent.
    var isPoured: Bool { floodBytesLeft == 0 && connection.queuedBytes == 0 }

    /// Stops or resumes reading.
    func setDeaf(_ isDeaf: Bool) {
        if isDeaf { connection.pauseReading() } else { connection.resumeReading() }
    }

    func endWriting() { connection.endWriting() }

    func close() { connection.close() }

    /// The last received line, without its end.
    var lastLine: String { lastLines.last ?? "" }

    /// The lines at the end of what was received, of which the first may lack its beginning.
    var lastLines: [String] { Self.lines(of: tail) }

    /// The first line of what was received over HTTP, without its end; empty for none.
    var statusLine: String {
        String(decoding: head.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }

    /// The lines at the beginning of what was received.
    var lines: [String] { Self.lines(of: head) }

    private static func lines(of bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
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
