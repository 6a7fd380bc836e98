import HTTP
import JSON
import LineProtocol
import Wire

/// A request of the API as a line of the line protocol.
struct TranslatedRequest {
    /// Without its end.
    let line: [UInt8]
    /// The id of what the request creates, where the reply does not tell it.
    var newID: String?
}

extension Route {
    /// Writes the line of a request.
    ///
    /// - Parameters:
    ///   - parameters: the members of the body, or the parameters of the query.
    ///   - makeID: makes the id of what the request creates, where the client leaves it out.
    /// - Throws: 400 for what cannot be said in a line; what the line says is checked where it is
    ///   read.
    func translate(
        _ parameters: [JSONValue.Member], by user: UserID, makeID: () -> String
    ) throws(LineError) -> TranslatedRequest {
        let keys = resource.keys
        guard parameters.allSatisfy({ keys.contains($0.name) }) else {
            let known = keys.isEmpty ? "none" : keys.joined(separator: ", ")
            throw LineError(400, "Unknown key; the keys of this request are: \(known)")
        }
        var writer = LineWriter(parameters: parameters, line: [])
        writer.line.reserveCapacity(256)
        writer.line += resource.verb.name.utf8
        for (index, source) in resource.sources.enumerated() {
            let isRequired = index < resource.verb.required.count
            try writer.append(
                source, of: self, by: user, isRequired: isRequired, makeID: makeID)
        }
        for option in resource.options { try writer.append(option) }
        for addition in resource.additions { try writer.append(addition) }
        if let key = resource.textKey { try writer.append(textOf: key) }
        return TranslatedRequest(line: writer.line, newID: writer.newID)
    }
}

/// A line that is being written from the parameters of a request.
private struct LineWriter {
    let parameters: [JSONValue.Member]
    var line: [UInt8]
    var newID: String?

    mutating func append(
        _ source: Resource.Source, of route: Route, by user: UserID, isRequired: Bool,
        makeID: () -> String
    ) throws(LineError) {
        switch source {
        case .user: append(word: user.text)
        case .path(let name): try append(name: route.value(of: name), of: name)
        case .key(let key):
            guard let text = try text(of: key) else {
                if isRequired { throw .missing(key) }
                return
            }
            try append(name: text, of: key)
        case .newID(let key):
            let id = try text(of: key) ?? makeID()
            try append(name: id, of: key)
            newID = id
        case .userAnd(let key):
            let others = value(of: key) == nil ? [] : try names(of: key, mayBeText: false)
            append(word: ([user.text] + others).joined(separator: ","))
        case .names(let key):
            append(word: try names(of: key, mayBeText: true).joined(separator: ","))
        case .toggle(let key):
            guard let isOn = try flag(of: key) else { throw .missing(key) }
            append(word: isOn ? "on" : "off")
        }
    }

    mutating func append(_ option: Option) throws(LineError) {
        guard let value = value(of: option.name) else {
            if option.isRequired { throw .missing(option.name) }
            return
        }
        let text: String
        switch value {
        case .null where option.isClearable: text = ""
        // An empty text clears a text; what is none is cleared by null alone.
        case .text(let value) where !value.isEmpty || option.isFreeText: text = value
        default: throw .notText(option.name)
        }
        line += " \(option.name)=".utf8
        line.appendValue(text)
    }

    mutating func append(_ addition: Resource.Addition) throws(LineError) {
        switch addition {
        case .always(let words): append(word: words)
        case .unless(let key, let words): if try flag(of: key) != true { append(word: words) }
        }
    }

    mutating func append(textOf key: String) throws(LineError) {
        guard let text = try text(of: key) else { return }
        // A text that is too long is refused here, since the line might be too long as well.
        guard text.utf8.count <= LineLimits.textBytesMax else { throw .textTooLong }
        line += " -- ".utf8
        line.appendText(text)
    }

    /// Returns the names that a key lists.
    ///
    /// - Parameter mayBeText: whether they may stand between commas, as in a query.
    private func names(of key: String, mayBeText: Bool) throws(LineError) -> [String] {
        let names: [String]
        switch value(of: key) {
        case nil: throw .missing(key)
        case .text(let text)? where mayBeText:
            names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        case .list(let list)?:
            names = list.map { if case .text(let name) = $0 { name } else { "" } }
        default: throw .notNames(key)
        }
        guard names.allSatisfy({ isName($0.utf8) }) else { throw .notNames(key) }
        return names
    }

    private mutating func append(name: String, of key: String) throws(LineError) {
        guard isPathName(name) else { throw .notName(key) }
        append(word: name)
    }

    private mutating func append(word: String) {
        line.append(UInt8(ascii: " "))
        line += word.utf8
    }

    private func value(of key: String) -> JSONValue? {
        parameters.first { $0.name == key }?.value
    }

    /// Returns the flag of a key, which a query has as a text; nil where it is missing.
    private func flag(of key: String) throws(LineError) -> Bool? {
        switch value(of: key) {
        case nil: return nil
        case .flag(let isOn)?: return isOn
        case .text("true")?: return true
        case .text("false")?: return false
        default: throw LineError(400, "The value of \(key) has to be true or false")
        }
    }

    /// Returns the text of a key; nil where it is missing.
    private func text(of key: String) throws(LineError) -> String? {
        switch value(of: key) {
        case nil: return nil
        case .text(let text)?: return text
        default: throw .notText(key)
        }
    }
}

extension LineError {
    static func missing(_ key: String) -> LineError {
        LineError(400, "Missing \(key)")
    }

    static func notText(_ key: String) -> LineError {
        LineError(400, "The value of \(key) has to be a text")
    }

    static func notName(_ key: String) -> LineError {
        LineError(
            400,
            "The value of \(key) has to be 1-\(nameBytesMax) of A-Z a-z 0-9 _ . : @ -, "
                + "and not . or ..")
    }

    static func notNames(_ key: String) -> LineError {
        LineError(400, "The value of \(key) has to be a list of users")
    }
}

/// Whether a text is a name that can be a part of a path, in which `.` and `..` mean other things.
func isPathName(_ text: String) -> Bool { isName(text.utf8) && text != "." && text != ".." }
