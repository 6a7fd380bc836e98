import Admin
import JSON
import LineProtocol

extension JSONWriter {
    /// Writes an error as the JSON object that the API shows.
    mutating func write(_ error: LineError) {
        object {
            $0.object("error") {
                $0.pair("code", error.codeInAPI)
                $0.pair("reason", error.reason)
                $0.pair("message", error.messageInAPI)
            }
        }
    }
}

extension LineError {
    /// The value of `Retry-After`, in seconds; nil if repeating the request would not help.
    var secondsToWait: Int? {
        codeInAPI == 429 || code == 503 ? retryAfter ?? secondsToLastingChange ?? 1 : nil
    }

    /// The HTTP status of the error: 409 for a limit that waiting does not lift.
    var codeInAPI: Int { isLastingLimit ? 409 : code }

    /// The message without the syntax of the line protocol, such as `title=` and `<title>`: clients
    /// of the API have keys.
    var messageInAPI: String {
        let sentence = sentenceInAPI
        // Looked for by its bytes: a search for a text costs as much as all else of an answer.
        guard sentence.utf8.contains(where: LineError.ofSyntax.contains) else { return sentence }
        var told: [UInt8] = []
        var rest = sentence.utf8[...]
        while let byte = rest.first, !LineError.syntax.contains(where: rest.starts) {
            rest = rest.dropFirst()
            let isEndOfKey = rest.first.map(LineError.endsOfKeys.contains) ?? true
            if byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") { continue }
            if byte != UInt8(ascii: "=") || !isEndOfKey { told.append(byte) }
        }
        return String(decoding: told, as: UTF8.self)
    }

    /// The characters of which a message with line syntax has at least one.
    private static let ofSyntax = Array(";=<".utf8)

    /// The characters that may follow the `=` of a key that a message names.
    private static let endsOfKeys = Array(" ;".utf8)

    /// The texts that introduce the line syntax at the end of a message.
    private static let syntax = ["; usage: ", "; write -- "].map { Array($0.utf8) }

    /// The error as the JSON body of a response.
    var json: [UInt8] {
        var writer = JSONWriter(reserving: 96)
        writer.write(self)
        return writer.bytes
    }
}
