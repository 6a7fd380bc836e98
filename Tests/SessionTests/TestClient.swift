import LineProtocol
import Session

/// A client of one session.
struct TestClient {
    let session: Session
    let output: FakeOutput
    private let node: TestNode

    init(_ session: Session, _ output: FakeOutput, of node: TestNode) {
        self.session = session
        self.output = output
        self.node = node
    }

    /// Sends bytes as they are, in one read, and turns nothing.
    func feed(_ text: String) {
        Array(text.utf8).withUnsafeBytes { bytes in
            nonisolated(unsafe) let bytes = bytes
            session.assumeIsolated { $0.onBytes(bytes) }
        }
    }

    /// Sends these lines in one read.
    func say(_ lines: String...) { feed(lines.map { $0 + "\n" }.joined()) }

    /// Sends these lines in one read and has the node do all of it.
    ///
    /// - Returns: the lines of the replies.
    func ask(_ lines: String...) -> [String] {
        feed(lines.map { $0 + "\n" }.joined())
        node.settle()
        return heard()
    }

    /// The lines that came since it was last asked.
    func heard() -> [String] {
        let text = String(decoding: output.assumeIsolated { $0.take() }, as: UTF8.self)
        return text.split(separator: "\n").map(String.init)
    }

    /// Takes what was written, and has the session write more; what is then written waits.
    ///
    /// - Returns: the lines that it took.
    func drain() -> [String] {
        defer { session.assumeIsolated { $0.onDrained() } }
        return heard()
    }

    /// How many lines ended in what came since it was last asked.
    func heardLineEnds() -> Int {
        output.assumeIsolated { $0.take() }.count { $0 == UInt8(ascii: "\n") }
    }

    func end() { session.assumeIsolated { $0.onEnd() } }

    var isPaused: Bool { output.assumeIsolated { $0.isPaused } }

    var isFinished: Bool { output.assumeIsolated { $0.isFinished } }

    var isAborted: Bool { output.assumeIsolated { $0.isAborted } }

    /// Stops or starts reading what is written.
    func clog(_ isClogged: Bool) {
        output.assumeIsolated { $0.clog(isClogged) }
        if !isClogged { session.assumeIsolated { $0.onDrained() } }
    }
}
