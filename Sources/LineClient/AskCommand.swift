import Glibc
import LineProtocol
import Manual
import NetworkIO
import TLS
import Wire

/// `grapevine ask`: sends lines to a node, one after another, and prints the replies.
package enum AskCommand {
    package static let help = CommandHelp(
        "ask", "sends lines to a node and prints its replies",
        synopsis: ["grapevine ask [--key-file <file>] <admin host:port> '<line>'…"],
        "Sends each line to a node, waits for its reply and prints it.",
        [
            CommandHelp.Option(
                "--key-file", .file, "signs in first, with a key of this file")
        ],
        statuses: [
            (0, "every reply was OK"),
            (
                1,
                "one was ERR; the lines behind it were sent all the same, unless the sign-in was "
                    + "refused"
            ),
            (64, "these words make no sense"),
            (69, "the node cannot be reached, or did not answer for 10 s"),
        ])

    /// - Parameter arguments: the words after `grapevine ask`.
    /// - Returns: the exit status of the process.
    package static func run(_ arguments: [String]) -> Int32 {
        if let first = arguments.first, ["--help", "-h"].contains(first) {
            put(help.usage, to: 1)
            return 0
        }
        var words = arguments[...]
        let keys: [Key]
        do throws(KeyOption.Unusable) {
            keys = try KeyOption.removeKeyOption(&words)
        } catch {
            return refuse(error.sentence)
        }
        guard let first = words.first else { return refuse("no address") }
        guard let address = Endpoint(first) else {
            return refuse("not an address: \(first)")
        }
        let lines = Array(words.dropFirst())
        guard !lines.isEmpty else { return refuse("no line to send") }
        guard !lines.contains(where: { $0.utf8.contains(UInt8(ascii: "\n")) }) else {
            return refuse("a line cannot hold a line end; in a text write \\n")
        }
        // A closed connection must be reported as such, and not end this process by a signal.
        signal(SIGPIPE, SIG_IGN)
        do throws(NetworkError) {
            let loop = try EventLoop()
            return run(lines, keys, at: address, on: loop)
        } catch {
            put("grapevine ask: \(error)\n", to: 2)
            return 71
        }
    }

    private static func run(
        _ lines: [String], _ keys: [Key], at address: Endpoint, on loop: EventLoop
    ) -> Int32 {
        let dialogue = Dialogue(lines, keys, with: address) { loop.stop() }
        dialogue.start(on: loop)
        loop.run()
        if let failure = dialogue.failure {
            put("grapevine ask: \("\(address) \(failure)".printable)\n", to: 2)
            return 69
        }
        return dialogue.hasError ? 1 : 0
    }

    private static func refuse(_ sentence: String) -> Int32 {
        put("grapevine ask: \(sentence.printable)\n\(help.usage)", to: 2)
        return 64
    }

    private static func put(_ text: String, to descriptor: Int32) {
        writeAll(Array(text.utf8), to: descriptor)
    }
}

/// A sequence of requests, each sent when the previous one has its reply.
private final class Dialogue {
    private var lines: ArraySlice<String>
    private let keys: [Key]
    private let address: Endpoint
    private let onEnd: () -> Void
    private(set) var failure: LineFailure?
    private(set) var hasError = false

    init(
        _ lines: [String], _ keys: [Key], with address: Endpoint,
        _ onEnd: @escaping () -> Void
    ) {
        self.keys = keys
        // A node does not answer a blank line.
        self.lines = lines.filter { $0.utf8.contains { $0 > UInt8(ascii: " ") } }[...]
        self.address = address
        self.onEnd = onEnd
    }

    func start(on loop: EventLoop) {
        LineConnection.dial(address, on: loop) { [self] result in
            switch result {
            case .success(let connection): signIn(on: connection)
            case .failure(let error): finishCommand(error)
            }
        }
    }

    private func signIn(on connection: LineConnection) {
        connection.signIn(with: keys) { [self] outcome in
            switch outcome {
            case .signedIn: next(on: connection)
            case .refused(let reply):
                hasError = true
                writeAll(reply.bytes, to: 1)
                finishCommand(nil)
            case .failed(let failure): finishCommand(failure)
            }
        }
    }

    private func next(on connection: LineConnection) {
        guard let line = lines.popFirst() else { return finishCommand(nil) }
        let isSent = connection.send(line, patienceMilliseconds: patience(for: line)) {
            [self] answer in
            switch answer {
            case .success(let reply):
                hasError = hasError || !reply.isOK
                writeAll(reply.bytes, to: 1)
                next(on: connection)
            case .failure(let error): finishCommand(error)
            }
        }
        if !isSent { finishCommand(.closed) }
    }

    private func finishCommand(_ failure: LineFailure?) {
        self.failure = failure
        onEnd()
    }
}

/// Returns the time to wait for a reply, in milliseconds: `WAIT` may take its own timeout in
/// addition.
func patience(for line: String) -> UInt64 {
    let words = line.split(separator: " ")
    let patience = LineConnection.patienceMilliseconds
    guard words.count == 3, words[0].uppercased() == "WAIT", let asked = UInt64(words[2]) else {
        return patience
    }
    return patience + min(asked, UInt64(LineLimits.waitMillisecondsMax))
}

/// Writes all bytes; stops silently if the reader has closed its end.
func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
    var start = 0
    while start < bytes.count {
        let count = bytes.withUnsafeBytes { buffer in
            write(descriptor, buffer.baseAddress?.advanced(by: start), buffer.count - start)
        }
        if count > 0 {
            start += count
        } else if errno != EINTR {
            return
        }
    }
}
