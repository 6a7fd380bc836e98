import Admin
import JSON
import LineProtocol

extension JSONWriter {
    /// Writes an error as the JSON object that API clients get.
    mutating func write(_ error: LineError) {
        object {
            $0.object("error") {
                $0.pair("code", error.codeInAPI)
                $0.pair("reason", error.reason)
                $0.pair("message", error.messageInAPI)
                if let now = error.now { $0.pair("now", LineTime.text(now)) }
            }
        }
    }
}

extension LineError {
    /// The value of the field `Retry-After`, in seconds; nil if repeating the request does not
    /// help.
    var secondsToWait: Int? {
        codeInAPI == 429 || code == 503 ? retryAfter ?? secondsToLastingChange ?? 1 : nil
    }

    /// The HTTP status of the error: 409 if a limit is reached that waiting does not lift,
    /// otherwise the error's code in the line protocol.
    var codeInAPI: Int { isLastingLimit ? 409 : code }

    /// The error message without the syntax of the line protocol, such as `title=` and `<title>`,
    /// because API clients use JSON keys.
    var messageInAPI: String {
        let sentence = sentenceInAPI
        // Bytes are searched: a search in characters costs as much as the rest of the response.
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

    /// The characters that indicate line-protocol syntax: an error message without any of them
    /// contains no such syntax.
    private static let ofSyntax = Array(";=<".utf8)

    /// The characters before which an `=` in an error message ends the name of an option, such as
    /// `title=`, and is therefore removed.
    private static let endsOfKeys = Array(" ;".utf8)

    /// The beginnings of hints about line-protocol syntax; an error message is cut before the
    /// first.
    private static let syntax = ["; usage: ", "; write -- "].map { Array($0.utf8) }

    /// The error as the JSON body of an HTTP response.
    var json: [UInt8] {
        var writer = JSONWriter(reserving: 96)
        writer.write(self)
        return writer.bytes
    }
}
