import JSON
import LineProtocol

/// The answer to a request of the API, made of the lines of its reply.
struct AnswerWriter {
    private let answer: Resource.Answer
    private let newID: String?
    private var writer = JSONWriter()
    private var hasBegun = false

    init(_ answer: Resource.Answer, newID: String?) {
        self.answer = answer
        self.newID = newID
    }

    /// The bytes that are held until the status line arrives.
    var heldBytes: Int { writer.bytes.count }

    /// Adds a data line.
    mutating func append(_ fields: ReplyFields) {
        switch answer {
        case .status: break
        case .one(let shape):
            begin()
            writer.write(pairs: fields, of: shape)
        case .list(_, let shape, _):
            begin()
            writer.object { $0.write(pairs: fields, of: shape) }
        }
    }

    /// Returns the whole answer, for the status line of a success.
    mutating func finish(_ status: ReplyFields) -> [UInt8] {
        begin()
        if case .list = answer { writer.end("]") }
        if let newID { writer.pair("id", newID) }
        switch answer {
        case .one: break
        case .status(let keys), .list(_, _, let keys):
            writer.write(pairs: status, of: .status, where: keys.contains)
        }
        writer.end("}")
        return writer.bytes
    }

    private mutating func begin() {
        guard !hasBegun else { return }
        hasBegun = true
        writer.begin("{")
        guard case .list(let name, _, _) = answer else { return }
        writer.name(name)
        writer.begin("[")
    }
}

extension JSONWriter {
    /// Writes the pairs of a line as members, each value with the type of its key.
    mutating func write(
        pairs fields: ReplyFields, of shape: LineShape,
        where isShown: (String) -> Bool = { _ in true }
    ) {
        for pair in fields.pairs where isShown(pair.key) {
            switch shape.type(of: pair.key) {
            case .number?: self.pair(pair.key, Int64(pair.value) ?? 0)
            case .flag?: self.pair(pair.key, pair.value == "true")
            case .set?:
                list(pair.key) { list in
                    for name in pair.value.split(separator: ",") { list.write(String(name)) }
                }
            case .text?, .name?, .time?, nil: self.pair(pair.key, pair.value)
            }
        }
    }

    /// Writes an error as the API shows it.
    mutating func write(_ error: LineError) {
        object {
            $0.object("error") {
                $0.pair("code", error.code)
                $0.pair("message", error.withoutUsage.sentence)
            }
        }
    }
}

extension LineError {
    /// The error without how the line is written, which clients of the API did not write.
    var withoutUsage: LineError {
        guard let end = sentence.firstRange(of: "; usage: ") else { return self }
        return LineError(code, String(sentence[..<end.lowerBound]))
    }

    /// The error as a body of a response.
    var json: [UInt8] {
        var writer = JSONWriter(reserving: 96)
        writer.write(self)
        return writer.bytes
    }
}
