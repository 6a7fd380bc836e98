import HTTP
import JSON
import LineProtocol
import Wire

/// An API request, translated into a request that a session executes.
struct TranslatedRequest {
    let request: Request
    /// The ID of the object that the request creates, if the session's response lacks this ID; nil
    /// otherwise.
    var newID: String?
}

extension Route {
    /// Translates the parameters of an API request into a request that a session executes.
    ///
    /// - Parameters:
    ///   - parameters: the members of the JSON body, or the parameters of the URL query.
    ///   - operation: the identity and the time that the client has given to the request.
    ///   - makeID: creates the ID of the object that the request creates, if the client omits it.
    /// - Throws: the error of the first parameter that the verb does not permit.
    func translate(
        _ parameters: [JSONValue.Member], as operation: String? = nil, by user: UserID,
        makeID: () -> String
    ) throws(LineError) -> TranslatedRequest {
        let keys = resource.keys
        guard parameters.allSatisfy({ keys.contains($0.name) || isTimes($0) }) else {
            let known = keys.isEmpty ? "none" : keys.joined(separator: ", ")
            throw LineError(400, "Unknown key; the keys of this request are: \(known)")
        }
        var reader = ParameterReader(parameters, of: resource.verb)
        for (index, source) in resource.sources.enumerated() {
            let isRequired = index < resource.verb.required.count
            try reader.append(
                source, of: self, by: user, isRequired: isRequired, makeID: makeID)
        }
        for option in resource.options { try reader.append(option) }
        for addition in resource.additions { try reader.append(addition) }
        if resource.hasTimes { try reader.append(.times) }
        if let operation {
            guard resource.takesOperation else {
                throw LineError(400, "This request takes no operation")
            }
            reader.append(operation: operation)
        }
        if let key = resource.textKey { try reader.append(textOf: key) }
        let request = try Request(reader.parts, minting: makeID)
        return TranslatedRequest(request: request.ofAPI, newID: reader.newID)
    }

    private func isTimes(_ parameter: JSONValue.Member) -> Bool {
        resource.hasTimes && parameter.name == Option.times.name
    }
}

/// The parser of an API request's parameters into the parts of the request for the session.
private struct ParameterReader {
    let parameters: [JSONValue.Member]
    private(set) var parts: RequestParts
    private(set) var newID: String?

    init(_ parameters: [JSONValue.Member], of verb: Verb) {
        self.parameters = parameters
        parts = RequestParts(of: verb)
    }

    mutating func append(
        _ source: HTTPEndpoint.Source, of route: Route, by user: UserID, isRequired: Bool,
        makeID: () -> String
    ) throws(LineError) {
        switch source {
        case .user: parts.append(argument: user.text)
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
            parts.append(argument: ([user.text] + others).joined(separator: ","))
        case .names(let key):
            let names = try names(of: key, mayBeText: true)
            parts.append(argument: names.joined(separator: ","))
        case .toggle(let key):
            guard let isOn = try flag(of: key) else { throw .missing(key) }
            parts.append(argument: isOn ? "on" : "off")
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
        // An empty string clears a text option; any other option is cleared by null alone.
        case .text(let value) where !value.isEmpty || option.isFreeText: text = value
        default: throw .notText(option.name)
        }
        parts.set(option, to: text)
    }

    mutating func append(operation: String) { parts.set(.operation, to: operation) }

    mutating func append(_ addition: HTTPEndpoint.Addition) throws(LineError) {
        if let key = addition.key, try flag(of: key) == true { return }
        parts.set(addition.option, to: addition.value)
    }

    mutating func append(textOf key: String) throws(LineError) {
        guard let text = try text(of: key) else { return }
        guard text.utf8.count <= LineLimits.textBytesMax else { throw .textTooLong }
        parts.set(text: text)
    }

    /// Returns the list of names that the API request has under a key.
    ///
    /// - Parameter mayBeText: whether a comma-separated string is accepted, as in a URL query.
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
        parts.append(argument: name)
    }

    private func value(of key: String) -> JSONValue? {
        parameters.first { $0.name == key }?.value
    }

    /// Returns a key's Boolean value, which is a string in a URL query; nil if the key is missing.
    private func flag(of key: String) throws(LineError) -> Bool? {
        switch value(of: key) {
        case nil: return nil
        case .flag(let isOn)?: return isOn
        case .text("true")?: return true
        case .text("false")?: return false
        default: throw LineError(400, "The value of \(key) has to be true or false")
        }
    }

    /// Returns the string value of a request's key; nil if the key is missing.
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

/// Whether a text is a valid name that can be a URL path segment, and so neither `.` nor `..`.
func isPathName(_ text: String) -> Bool { isName(text.utf8) && text != "." && text != ".." }
