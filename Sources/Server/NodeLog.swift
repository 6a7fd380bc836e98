import LineProtocol
import NetworkIO
import Node
import Wire

/// The log of a node: one event a line on standard error, of the levels that are asked for.
///
/// It is bounded in three ways: `LogLimit` bounds what others can cause, a line its length, and the
/// writer what waits for a reader. Nothing untrusted leaves it unescaped.
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

    /// Each tick: says of which lines there were more than were written.
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
    /// How long the last lines of a process wait for who reads them, in milliseconds.
    private static let lastMillisecondsMax = 500

    /// For standard error.
    static func standardError() throws(NetworkError) -> LineWriter {
        try LineWriter(2) { "grapevine: log lines dropped, nobody read them: lines=\($0)" }
    }

    /// Has the last lines written, as long as somebody reads them.
    func finish() { finish(withinMilliseconds: LineWriter.lastMillisecondsMax) }
}
