import Admin
import JSON
import LineProtocol

/// The answer to a request of the API, made of the lines of its reply.
struct AnswerWriter {
    private let resource: Resource
    private let newID: String?
    private var writer = JSONWriter()
    /// What was written before that, in pieces: a long answer is not moved while it grows.
    private var parts: [[UInt8]] = []
    private var partsBytes = 0
    private var hasBegun = false

    /// The bytes of a piece.
    private static let partBytes = 64 << 10

    /// - Parameter newID: the id of what the request creates, where the reply does not tell it.
    init(_ resource: Resource, newID: String?) {
        self.resource = resource
        self.newID = newID
    }

    /// The bytes that are held until the status line arrives.
    var heldBytes: Int { (parts.isEmpty ? 0 : partsBytes) + writer.bytes.count }

    /// Adds a data line.
    mutating func append(_ line: LineView) {
        switch resource.answer {
        case .status: break
        case .one(let shape):
            begin()
            writer.write(pairsOf: line, of: shape)
        case .list(_, let shape, _):
            begin()
            writer.object { $0.write(pairsOf: line, of: shape) }
            if writer.bytes.count >= AnswerWriter.partBytes { endPart() }
        }
    }

    private mutating func endPart() {
        partsBytes += writer.bytes.count
        parts.append(writer.removeBytes())
        // Nobody will get it.
        if partsBytes > AppLimits.answerBytesMax { parts = [] }
    }

    /// Returns the whole answer in pieces, for the status line of a success.
    ///
    /// - Throws: 413 for a longer one than is sent.
    mutating func finish(_ status: LineView) throws(LineError) -> [[UInt8]] {
        begin()
        if case .list = resource.answer { writer.end("]") }
        if let newID { writer.pair("id", newID) }
        writer.write(pairsOf: status, of: resource.status)
        writer.end("}")
        endPart()
        let (whole, bytes) = (parts, partsBytes)
        (parts, partsBytes) = ([], 0)
        guard bytes <= AppLimits.answerBytesMax else { throw .answerTooLong }
        return whole
    }

    private mutating func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        writer = JSONWriter(reserving: 128)
        writer.begin("{")
        guard case .list(let name, _, _) = resource.answer else { return }
        writer.name(name)
        writer.begin("[")
    }
}

extension JSONWriter {
    /// Writes the pairs of a line as members, each value with the type of its key; keys that the
    /// shape does not have are left out.
    mutating func write(pairsOf line: LineView, of shape: LineShape) {
        line.forEachPair { key, value in
            guard let type = shape.type(of: key) else { return }
            name(spelt: key)
            switch type {
            case .number, .flag: write(raw: value)
            case .set:
                list { list in
                    for name in value.split(separator: UInt8(ascii: ",")) {
                        list.write(spelt: UnsafeRawBufferPointer(rebasing: name))
                    }
                }
            case .text, .name, .time: write(line: value)
            case .copies: write(copies: value)
            }
        }
    }

    /// Writes `2/3` as the value of a member, and the number of owners as another member.
    private mutating func write(copies value: UnsafeRawBufferPointer) {
        let slash = value.firstIndex(of: UInt8(ascii: "/")) ?? value.endIndex
        write(raw: UnsafeRawBufferPointer(rebasing: value[..<slash]))
        name("owners")
        write(raw: UnsafeRawBufferPointer(rebasing: value[slash...].dropFirst()))
    }

    /// Writes a value as a line spells it: as JSON does, but for `\u{…}`, which stands for a
    /// control character.
    private mutating func write(line value: UnsafeRawBufferPointer) {
        guard hasNumbered(value) else { return write(spelt: value) }
        var text: [UInt8] = []
        var rest = value[...]
        while let byte = rest.popFirst() {
            text.append(byte)
            guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else { continue }
            text.append(letter)
            guard letter == UInt8(ascii: "u") else { continue }
            let digits = rest.dropFirst().prefix { $0 != UInt8(ascii: "}") }
            text += [UInt8](repeating: UInt8(ascii: "0"), count: max(0, 4 - digits.count))
            text += digits
            rest = rest.dropFirst(digits.count + 2)
        }
        text.withUnsafeBytes { write(spelt: $0) }
    }

    private func hasNumbered(_ value: UnsafeRawBufferPointer) -> Bool {
        var rest = value[...]
        while let place = rest.firstIndex(of: UInt8(ascii: "\\")) {
            if rest[place...].starts(with: #"\u"#.utf8) { return true }
            rest = rest[place...].dropFirst(2)
        }
        return false
    }

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

    static let answerTooLong = LineError(
        413,
        "The answer would have more than \(AppLimits.answerBytesMax) bytes; ask for less of it")

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
