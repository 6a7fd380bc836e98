import LineProtocol

/// A cutter of what a session writes into lines.
struct ReplyCutter {
    /// The beginning of a line whose end has not been written.
    private var rest: [UInt8] = []

    /// The bytes that are held until the rest of a line is written.
    var heldBytes: Int { rest.count }

    /// Calls `body` with each line that the bytes complete.
    mutating func cut(_ bytes: [UInt8], _ body: (LineView) -> Void) {
        bytes.withUnsafeBytes { bytes in
            var start = 0
            while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
                let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                start = end + 1
                if rest.isEmpty {
                    if let line = LineView(part) { body(line) }
                } else {
                    rest += part
                    let whole = rest
                    rest = []
                    whole.withUnsafeBytes { if let line = LineView($0) { body(line) } }
                }
            }
            rest += bytes[start...]
        }
    }
}
