import LineProtocol
import NetworkIO
import Node
import Wire

/// The log of a node: one event per line on standard error, of the levels that `--log` selects.
///
/// It is bounded in three ways: `LogLimit` bounds the lines that others can cause, each line has a
/// greatest length, and the writer bounds what waits for a reader. Untrusted text is escaped.
final class NodeLog: Sendable {
    private let name: NodeName
    private let level: LogLevel
    private let clock: SystemClock
    private let writer: LineWriter
    private let limit = Lock(LogLimit())

    init(_ command: NodeCommand, at clock: SystemClock, to writer: LineWriter) {
        name = command.name
        level = command.logLevel
        self.clock = clock
        self.writer = writer
    }

    var isDebugging: Bool { level >= .debug }

    func write(_ level: LogLevel, _ line: String) {
        guard level <= self.level else { return }
        if level < .debug {
            let now = clock.milliseconds
            guard limit.withLock({ $0.admits(line, at: level, now: now) }) else { return }
        }
        put(level, line)
    }

    /// Writes how many lines of each kind were withheld; called at each tick.
    func writeWithheld() {
        let now = clock.milliseconds
        for (level, line) in limit.withLock({ $0.takeWithheld(now: now) }) { put(level, line) }
    }

    private func put(_ level: LogLevel, _ line: String) {
        let time = LineTime.text(Int64(clock.wallMilliseconds))
        let line = LogLimit.cut(line.printable)
        writer.write("\(time) \(level.rawValue) node=\(name) \(line)")
    }
}

extension LineWriter {
    /// The most milliseconds that the last lines of a process wait for their reader.
    private static let lastMillisecondsMax = 500

    /// Creates the writer for standard error.
    static func standardError() throws(NetworkError) -> LineWriter {
        try LineWriter(2) { "grapevine: log lines dropped, nobody read them: lines=\($0)" }
    }

    /// Waits for the last lines to be written, for as long as somebody reads them.
    func finish() { finish(withinMilliseconds: LineWriter.lastMillisecondsMax) }
}
