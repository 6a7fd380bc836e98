import Chat
import JSON
import LineProtocol
import Wire

/// The JSON answer to a request, in pieces, so that a growing answer is never copied as a whole.
package struct JSONAnswer: RowWriter {
    /// A writer of a row's fields as members of a JSON object.
    package struct Fields: ViewWriter {
        var writer = JSONWriter(reserving: 128)
        /// The keys of the fields that the writer writes; nil for all fields.
        var shown: [String]?
        package var isExact = false
    }

    private let form: HTTPEndpoint.Answer
    private let bytesMax: Int
    private var fields = Fields()
    /// The finished pieces of the answer, in order.
    private var parts: [[UInt8]] = []
    private var partsBytes = 0

    /// The size in bytes at which a piece is finished.
    private static let partBytes = 64 << 10

    /// Returns the JSON answer to a successful request, in pieces.
    ///
    /// - Parameters:
    ///   - newID: the id of the created object; nil if the response contains the id.
    ///   - bytesMax: the most bytes of an answer.
    /// - Throws: the error of the response, or 413 for an answer that is too long.
    package static func pieces(
        of response: Response, as form: HTTPEndpoint.Answer, newID: String?, bytesMax: Int
    ) throws(LineError) -> [[UInt8]] {
        if let error = response.error { throw error }
        var answer = JSONAnswer(as: form, newID: newID, bytesMax: bytesMax)
        response.write(to: &answer)
        return try answer.finish()
    }

    private init(as form: HTTPEndpoint.Answer, newID: String?, bytesMax: Int) {
        self.form = form
        self.bytesMax = bytesMax
        fields.writer.begin("{")
        if let newID { fields.writer.pair("id", newID) }
        guard case .list(let name, _, _) = form else { return }
        fields.writer.name(name)
        fields.writer.begin("[")
    }

    package var isTooLong: Bool { partsBytes > bytesMax }

    package var isExact: Bool {
        get { fields.isExact }
        set { fields.isExact = newValue }
    }

    package mutating func row(_ noun: StaticString, _ body: (inout Fields) -> Void) {
        switch form {
        case .list(_, _, let keys) where isStatus(noun):
            fields.writer.end("]")
            writeStatus(keys, body)
        case .list:
            fields.writer.begin("{")
            body(&fields)
            fields.writer.end("}")
            if fields.writer.bytes.count >= JSONAnswer.partBytes { endPart() }
        case .status(let keys): if isStatus(noun) { writeStatus(keys, body) }
        case .one: if !isStatus(noun) { body(&fields) }
        }
    }

    private func isStatus(_ noun: StaticString) -> Bool {
        noun.utf8CodeUnitCount == 2 && noun.utf8Start[0] == UInt8(ascii: "O")
    }

    private mutating func writeStatus(_ keys: [String], _ body: (inout Fields) -> Void) {
        fields.shown = keys
        body(&fields)
    }

    private mutating func endPart() {
        partsBytes += fields.writer.bytes.count
        parts.append(fields.writer.removeBytes())
        // The pieces are dropped, since an answer that is too long is never sent.
        if isTooLong { parts = [] }
    }

    private mutating func finish() throws(LineError) -> [[UInt8]] {
        fields.writer.end("}")
        endPart()
        guard !isTooLong else {
            throw LineError(
                413, "The answer would have more than \(bytesMax) bytes; ask for less of it")
        }
        return parts
    }
}

extension JSONAnswer.Fields {
    /// Writes the fields as members of the current JSON object.
    public mutating func write<Subject>(_ subject: Subject, _ fields: [Field<Subject>]) {
        for field in fields where isExact || !field.isExactOnly {
            if let shown, !shown.contains(field.key.description) { continue }
            writer.write(subject, field, isExact: isExact)
        }
    }
}

extension JSONWriter {
    mutating func write<Subject>(
        _ subject: Subject, _ field: Field<Subject>, isExact: Bool
    ) {
        let key = field.key
        switch field.getter {
        case .text(let get): if let text = get(subject) { pair(key, text) }
        case .name(let get): if let name = get(subject) { pair(key, spelt: name) }
        case .time(let get):
            guard let time = get(subject) else { return }
            pair(key, spelt: LineTime.text(time))
        case .moment(let get):
            guard let time = get(subject) else { return }
            pair(key, spelt: isExact ? LineTime.text(time) : LineTime.text(time.lineTime))
        case .number(let get):
            guard let number = get(subject) else { return }
            name(key)
            write(number)
        case .sequence(let get):
            if let number = get(subject) { pair(key, spelt: hexadecimal(number)) }
        case .flag(let get): if get(subject) { pair(key, true) }
        case .toggle(let get): if let isOn = get(subject) { pair(key, isOn) }
        case .users(let get): list(key, get(subject).lazy.map(\.text))
        case .names(let get): list(key, get(subject))
        case .copies(let get):
            guard let copies = get(subject) else { return }
            name(key)
            write(copies.on)
            name("owners")
            write(copies.owners)
        }
    }

    private mutating func pair(_ key: StaticString, _ text: String) {
        name(key)
        write(text)
    }

    private mutating func pair(_ key: StaticString, _ flag: Bool) {
        name(key)
        write(flag)
    }

    private mutating func pair(_ key: StaticString, spelt text: String) {
        name(key)
        write(spelt: text)
    }

    /// Writes a list of names; an empty list is left out.
    private mutating func list(_ key: StaticString, _ names: some Collection<String>) {
        guard !names.isEmpty else { return }
        name(key)
        list { list in for name in names { list.write(spelt: name) } }
    }
}
