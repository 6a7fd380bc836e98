import Chat
import LineProtocol
import Wire

/// Returns the request that a line parses to, or its error.
func parsed(_ line: String) -> Result<Request?, LineError> { parsed(Array(line.utf8)) }

func parsed(_ line: [UInt8]) -> Result<Request?, LineError> {
    line.withUnsafeBytes { bytes in
        Result { () throws(LineError) in try Request.parse(bytes) { "new" } }
    }
}

/// Returns the change that a line requests; nil where it is refused or another request.
func change(_ line: String) -> Mutation? {
    guard case .success(.write(let mutation, _, _)) = parsed(line) else { return nil }
    return mutation
}

/// The message that a line sends.
struct SentMessage {
    /// Nil where the node is to create an id.
    let id: MessageID?
    let type: MessageType
    let item: ItemID?
    let text: String
}

/// Returns the message that a line sends; nil where it is refused or another request.
func sent(_ line: String) -> SentMessage? {
    guard case .success(.write(let mutation, let isMinted, _)) = parsed(line),
        let send = mutation.action as? SendMessage
    else { return nil }
    return SentMessage(
        id: isMinted ? nil : mutation.message, type: send.type, item: send.item, text: send.text)
}

/// Returns the error of a line; nil where it is a request or blank.
func refused(_ line: String) -> LineError? {
    guard case .failure(let error) = parsed(line) else { return nil }
    return error
}

/// Returns a text of 0–24 characters: any Unicode, and often characters that quoting must handle.
func randomText(_ generator: inout some RandomNumberGenerator) -> String {
    let hard: [Unicode.Scalar] = [
        " ", "\"", "\\", "=", "\n", "\r", "\t", "\0", "\u{7F}", "\u{80}", "\u{85}", "\u{9F}",
        "\u{A0}", "{", "}", "u", "n", "-", "\u{301}", "\u{202E}", "é", "\u{2028}", "😀",
    ]
    var scalars = String.UnicodeScalarView()
    for _ in 0..<Int.random(in: 0...24, using: &generator) {
        if Bool.random(using: &generator), let scalar = hard.randomElement(using: &generator) {
            scalars.append(scalar)
        } else if let scalar = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &generator)) {
            scalars.append(scalar)
        }
    }
    return String(scalars)
}
