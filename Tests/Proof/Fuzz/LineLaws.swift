import LineProtocol

/// The laws of lines, requests and replies, which hold whatever a client sends.
enum LineLaws {
    static func check(_ input: [UInt8]) {
        let whole = cuts(of: input, piece: max(1, input.count))
        precondition(whole == cuts(of: input, piece: 1), "pieces cut the same lines")
        precondition(whole == cuts(of: input, piece: 7), "pieces cut the same lines")
        for line in whole { check(line: line) }
        check(line: input)
    }

    private static func cuts(of input: [UInt8], piece: Int) -> [[UInt8]] {
        var cutter = LineCutter()
        var lines: [[UInt8]] = []
        func keep(_ cut: LineCutter.LineEvent) {
            switch cut {
            case .line(let bytes): lines.append(Array(bytes))
            case .tooLong: lines.append(Array("too long".utf8))
            case .notEnded: lines.append(Array("not ended".utf8))
            }
        }
        for start in stride(from: 0, to: input.count, by: piece) {
            input[start..<min(start + piece, input.count)].withUnsafeBytes {
                cutter.feed($0, keep)
            }
        }
        if let last = cutter.finish() { keep(last) }
        return lines
    }

    private static func check(line: [UInt8]) {
        let first = answer(to: line)
        precondition(first == answer(to: line), "a line has one answer")
        if case .failure(let error) = first {
            let reply = error.reply
            let ends = reply.count { $0 == UInt8(ascii: "\n") }
            precondition(ends == 1 && reply.last == UInt8(ascii: "\n"), "a refusal is one line")
            precondition(reply.starts(with: "ERR ".utf8), "a refusal begins with ERR")
        }
        _ = ReplyLine(line)
    }

    private static func answer(to line: [UInt8]) -> Result<Request?, LineError> {
        line.withUnsafeBytes { bytes in
            do throws(LineError) {
                return .success(try Request.parse(bytes) { "new" })
            } catch {
                return .failure(error)
            }
        }
    }
}
