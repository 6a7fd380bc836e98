import LineProtocol
import Session

/// The client of a session.
package struct TestClient {
    package let session: Session
    package let output: FakeOutput
    private let node: TestNode

    package init(_ session: Session, _ output: FakeOutput, of node: TestNode) {
        self.session = session
        self.output = output
        self.node = node
    }

    /// Sends bytes as they are, in one read, without a turn.
    package func feed(_ text: String) {
        Array(text.utf8).withUnsafeBytes { bytes in
            nonisolated(unsafe) let bytes = bytes
            session.assumeIsolated { $0.onBytes(bytes) }
        }
    }

    /// Sends these lines in one read.
    package func say(_ lines: String...) { feed(lines.map { $0 + "\n" }.joined()) }

    /// Sends these lines in one read and runs the node until nothing is left to do.
    ///
    /// - Returns: the lines of the replies.
    package func ask(_ lines: String...) -> [String] {
        feed(lines.map { $0 + "\n" }.joined())
        node.settle()
        return heard()
    }

    /// Returns the lines that came since the last call.
    package func heard() -> [String] {
        let text = String(decoding: output.assumeIsolated { $0.take() }, as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        for line in lines { checkShape(of: line) }
        return lines
    }

    /// Takes what was written, and lets the session write more, which then waits.
    ///
    /// - Returns: the lines that were taken.
    package func drain() -> [String] {
        defer { session.assumeIsolated { $0.onDrained() } }
        return heard()
    }

    /// Returns the number of line ends that came since the last call.
    package func heardLineEnds() -> Int {
        output.assumeIsolated { $0.take() }.count { $0 == UInt8(ascii: "\n") }
    }

    package func end() { session.assumeIsolated { $0.onEnd() } }

    package var isPaused: Bool { output.assumeIsolated { $0.isPaused } }

    package var isFinished: Bool { output.assumeIsolated { $0.isFinished } }

    package var isAborted: Bool { output.assumeIsolated { $0.isAborted } }

    /// Stops or starts reading what is written.
    package func clog(_ isClogged: Bool) {
        output.assumeIsolated { $0.clog(isClogged) }
        if !isClogged { session.assumeIsolated { $0.onDrained() } }
    }
}
