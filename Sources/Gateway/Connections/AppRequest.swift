import CRDT
import HTTP
import JSON
import LineProtocol
import Wire

/// An HTTP request to the port for apps, with its body in memory unless the body is an upload.
struct AppRequest {
    let head: RequestHead
    private(set) var body: [UInt8] = []
    let admission: Admission
    /// The allowed origin of the web page that sends the request; nil if the request has no
    /// `Origin`, or this node's own.
    let origin: String?

    init(_ head: RequestHead, _ admission: Admission, origin: String?) {
        self.head = head
        self.admission = admission
        self.origin = origin
    }

    /// Whether the request has a body that is left unread, because the request is refused.
    var isUnread: Bool {
        if case .refused = admission { head.hasBody } else { false }
    }

    /// Whether the request body is an uploaded file, whose parts are stored as they arrive.
    var isUpload: Bool {
        if case .blob(let route, _) = admission { route.isUpload } else { false }
    }

    mutating func append(_ part: Slice<UnsafeRawBufferPointer>) throws(HTTPError) {
        try AppRequest.check(UInt64(body.count + part.count))
        body += part
    }

    /// - Throws: 413 for a request body of more than `AppLimits.bodyBytesMax` bytes.
    static func check(_ length: UInt64) throws(HTTPError) {
        guard length <= AppLimits.bodyBytesMax else {
            throw HTTPError(
                .contentTooLarge, "A body has at most \(AppLimits.bodyBytesMax) bytes")
        }
    }

    /// Returns the session tokens in the field `Grapevine-Token` of a request.
    static func sessionTokens(_ head: RequestHead) throws(LineError) -> [Token] {
        try sessionTokens(tokenTexts(head))
    }

    static func sessionTokens(_ texts: [String]) throws(LineError) -> [Token] {
        var tokens: [Token] = []
        for text in texts { tokens.append(try sessionToken(text)) }
        return tokens
    }

    /// Returns the texts in the header field `Grapevine-Token`, which commas separate, checked for
    /// length and characters.
    static func tokenTexts(_ head: RequestHead) throws(LineError) -> [String] {
        let texts = head.fields.texts(of: "grapevine-token")
        guard texts.count <= AppLimits.tokensMax else { throw .tooManyTokens }
        for text in texts { _ = try checked(tokenText: text) }
        return texts
    }

    static func checked(tokenText text: String) throws(LineError) -> String {
        guard !text.isEmpty, text.utf8.count <= LineLimits.tokenBytesMax,
            Base64.decode(text) != nil
        else { throw .tokenBad }
        return text
    }

    static func sessionToken(_ text: String) throws(LineError) -> Token {
        do throws(WireError) {
            return try Token(text: text)
        } catch {
            throw .tokenBad
        }
    }

    /// Returns the parameters of a request, from its JSON body or its URL query.
    func members(hasBody: Bool) throws(LineError) -> [JSONValue.Member] {
        let query = try AppRequest.members(of: head.target.query)
        guard hasBody else {
            guard body.isEmpty else { throw LineError(400, "This request has no body") }
            return query
        }
        guard query.allSatisfy({ $0.name == Option.times.name }) else {
            throw LineError(400, "This request takes its keys in the body, and no query")
        }
        guard !body.isEmpty else { return query }
        do throws(JSONError) {
            return try AppRequest.members(of: try JSONValue(reading: body)) + query
        } catch {
            throw LineError(400, error.message)
        }
    }

    /// Returns the parameters of a URL query as JSON members; a repeated name is an error (400).
    static func members(
        of query: [RequestTarget.Parameter]
    ) throws(LineError) -> [JSONValue.Member] {
        var names: Set<String> = []
        guard query.allSatisfy({ names.insert($0.name).inserted }) else {
            throw LineError(400, "A parameter of the query may be given once only")
        }
        return query.map { JSONValue.Member($0.name, .text($0.value)) }
    }

    private static func members(of value: JSONValue) throws(JSONError) -> [JSONValue.Member] {
        guard case .object(let members) = value else { throw .notObject }
        return members
    }
}

extension LineError {
    static let tooManyTokens = LineError(
        400, "Grapevine-Token has at most \(AppLimits.tokensMax) tokens")
}

extension RequestHead {
    /// The identity and the time that the client has given to the request, in the field
    /// `Grapevine-Operation`; nil if the request has no such field.
    var operation: String? {
        get throws(LineError) {
            let values = fields.values(of: "grapevine-operation")
            guard values.count <= 1, values.first?.isEmpty != true else { throw .operationBad }
            return values.first
        }
    }
}

extension JSONError {
    static let notObject = JSONError(message: "The body has to be an object of JSON")
}
