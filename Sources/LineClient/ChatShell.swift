import ChatClient
import Glibc
import NetworkIO
import TLS

/// The environment of a chat machine: its connections, its keyboard and its screen, or lines
/// instead.
final class ChatShell {
    private static let tickMilliseconds: UInt64 = 100
    private static let readBytesMax = 16_384
    /// The length from which on an input line is cut in two, in bytes; no message is that long.
    private static let lineBytesMax = 1 << 20

    private var machine: ChatMachine
    private let keys: [Key]
    private let terminal: Terminal?
    private let loop: EventLoop
    private var link: NodeConnection?
    private var decoder = KeyDecoder()
    private var input: [UInt8] = []
    private var reader: DescriptorWatcher?
    private var signals: [SignalWatcher] = []
    /// The happenings that arrived while directives were being executed.
    private var happenings: [Happening] = []
    private var isBusy = false
    private var lastLines: [String] = []
    private var status: Int32?

    init(_ machine: ChatMachine, _ keys: [Key], _ terminal: Terminal?, on loop: EventLoop) {
        self.machine = machine
        self.keys = keys
        self.terminal = terminal
        self.loop = loop
    }

    /// - Returns: the exit status.
    func run() throws(NetworkError) -> Int32 {
        defer {
            terminal?.restore()
            for line in lastLines { writeAll(Array("\(line)\n".utf8), to: 2) }
        }
        _ = Timer(on: loop, everyMilliseconds: Self.tickMilliseconds) { [self] in
            for key in decoder.flush() { on(.key(key)) }
            on(.tick)
        }
        for ending in [SIGTERM, SIGHUP, SIGINT] {
            signals.append(
                try SignalWatcher(ending, on: loop) { [self] in on(.terminated(128 + ending)) })
        }
        if let terminal {
            signals.append(
                try SignalWatcher(SIGWINCH, on: loop) { [self] in
                    terminal.resize()
                    on(.resized(terminal.size))
                })
        }
        listen()
        on(.tick)
        loop.run()
        return status ?? 0
    }

    private func exitShell(_ status: Int32) {
        guard self.status == nil else { return }
        self.status = status
        link?.close()
        reader?.cancel()
        loop.stop()
    }

    // MARK: - The machine

    private func on(_ happening: Happening) {
        happenings.append(happening)
        guard !isBusy else { return }
        isBusy = true
        while !happenings.isEmpty, status == nil {
            let next = happenings.removeFirst()
            for directive in machine.on(next, at: loop.nanoseconds / 1_000_000) {
                carryOut(directive)
            }
        }
        isBusy = false
    }

    private func carryOut(_ directive: Directive) {
        switch directive {
        case .dial(let address):
            link?.close()
            let link = NodeConnection(keys) { [weak self] happening in self?.on(happening) }
            self.link = link
            link.dial(address, on: loop)
        case .ask(let number, let line): link?.ask(number, line)
        case .watch(let line): link?.watch(line)
        case .print(let line):
            if terminal == nil {
                writeAll(Array("\(line)\n".utf8), to: 1)
            } else {
                lastLines.append(line)
            }
        case .draw(let screen): terminal?.draw(screen)
        case .redraw: terminal?.redraw()
        case .bell: terminal?.ring()
        case .leave(let status): exitShell(status)
        }
    }

    // MARK: - Input

    private func listen() {
        do throws(NetworkError) {
            reader = try DescriptorWatcher(0, on: loop) { [self] in read() }
        } catch {
            // A regular file cannot be watched for input, and is always readable.
            loop.onTurnEnd { [self] in if status == nil, !hasEnded { read() } }
        }
    }

    private var hasEnded = false

    private func read() {
        if let terminal {
            let inputs = terminal.read()
            // A terminal that is gone is readable, but has no input.
            if inputs.isEmpty, isInputGone { return on(.terminated(128 + SIGHUP)) }
            for key in decoder.keys(in: inputs) { on(.key(key)) }
            return
        }
        var bytes = [UInt8](repeating: 0, count: Self.readBytesMax)
        let count = Glibc.read(0, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        guard count > 0 else { return onEndOfInput() }
        bytes.removeLast(bytes.count - count)
        input += bytes
        while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
            let line = input[..<end]
            input.removeSubrange(...end)
            on(.line(String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)))
        }
        if input.count >= Self.lineBytesMax { takeRest() }
    }

    private var isInputGone: Bool {
        var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) == 1 && input.revents & Int16(POLLHUP | POLLERR) != 0
    }

    private func takeRest() {
        let rest = String(decoding: input, as: UTF8.self)
        input = []
        if !rest.isEmpty { on(.line(rest)) }
    }

    private func onEndOfInput() {
        hasEnded = true
        reader?.cancel()
        takeRest()
        on(.inputEnded)
    }
}
