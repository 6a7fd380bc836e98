import Admin
import JSON
import LineProtocol

extension JSONWriter {
    /// Writes an error as the API shows it.
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
    /// The seconds after which the request may be repeated; nil where that would not help.
    var secondsToWait: Int? {
        codeInAPI == 429 || code == 503 ? retryAfter ?? secondsToLastingChange ?? 1 : nil
    }

    /// The status for clients of the API: a limit that no waiting changes is a conflict.
    var codeInAPI: Int { isLastingLimit ? 409 : code }

    /// The sentence without how a line is written: clients of the API have keys in place of
    /// `title=` and `<title>`.
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

    /// The characters of which a sentence with syntax has one at least.
    private static let ofSyntax = Array(";=<".utf8)

    /// What follows the `=` of a key that a sentence names.
    private static let endsOfKeys = Array(" ;".utf8)

    /// What introduces the syntax of a line at the end of a sentence.
    private static let syntax = ["; usage: ", "; write -- "].map { Array($0.utf8) }

    /// The error as a body of a response.
    var json: [UInt8] {
        var writer = JSONWriter(reserving: 96)
        writer.write(self)
        return writer.bytes
    }
}
