@testable import LineClient

/// A reply as a node would send it: data lines, then a status line.
func reply(_ lines: String...) -> LineReply { reply(lines) }

func reply(_ lines: [String]) -> LineReply {
    let bytes = lines.map { Array($0.utf8) + [UInt8(ascii: "\n")] }
    return LineReply(
        bytes: bytes.flatMap(\.self), statusStart: bytes.dropLast().reduce(0) { $0 + $1.count })
}
