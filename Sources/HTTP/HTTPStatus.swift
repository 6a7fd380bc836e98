/// The status code of an HTTP response.
public struct HTTPStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let continues = HTTPStatus(rawValue: 100)
    public static let switchingProtocols = HTTPStatus(rawValue: 101)
    public static let ok = HTTPStatus(rawValue: 200)
    public static let created = HTTPStatus(rawValue: 201)
    public static let noContent = HTTPStatus(rawValue: 204)
    public static let partialContent = HTTPStatus(rawValue: 206)
    public static let notModified = HTTPStatus(rawValue: 304)
    public static let badRequest = HTTPStatus(rawValue: 400)
    public static let unauthorized = HTTPStatus(rawValue: 401)
    public static let forbidden = HTTPStatus(rawValue: 403)
    public static let notFound = HTTPStatus(rawValue: 404)
    public static let methodNotAllowed = HTTPStatus(rawValue: 405)
    public static let requestTimeout = HTTPStatus(rawValue: 408)
    public static let conflict = HTTPStatus(rawValue: 409)
    public static let contentTooLarge = HTTPStatus(rawValue: 413)
    public static let targetTooLong = HTTPStatus(rawValue: 414)
    public static let unsupportedMediaType = HTTPStatus(rawValue: 415)
    public static let rangeNotSatisfiable = HTTPStatus(rawValue: 416)
    public static let expectationFailed = HTTPStatus(rawValue: 417)
    public static let misdirectedRequest = HTTPStatus(rawValue: 421)
    public static let upgradeRequired = HTTPStatus(rawValue: 426)
    public static let tooManyRequests = HTTPStatus(rawValue: 429)
    public static let fieldsTooLarge = HTTPStatus(rawValue: 431)
    public static let internalError = HTTPStatus(rawValue: 500)
    public static let notImplemented = HTTPStatus(rawValue: 501)
    public static let unavailable = HTTPStatus(rawValue: 503)
    public static let timeout = HTTPStatus(rawValue: 504)
    public static let versionNotSupported = HTTPStatus(rawValue: 505)

    /// The reason phrase of the status (RFC 9110, section 15); empty for a code that is not used
    /// here.
    public var reason: String { HTTPStatus.reasons[rawValue] ?? "" }

    /// Whether a response with this status code never has a body (RFC 9110, sections 15.2, 15.3.5
    /// and 15.4.5).
    var isWithoutBody: Bool { rawValue < 200 || rawValue == 204 || rawValue == 304 }

    private static let reasons: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created",
        204: "No Content", 206: "Partial Content", 304: "Not Modified", 400: "Bad Request",
        401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        408: "Request Timeout", 409: "Conflict", 413: "Content Too Large", 414: "URI Too Long",
        415: "Unsupported Media Type", 416: "Range Not Satisfiable", 417: "Expectation Failed",
        421: "Misdirected Request", 426: "Upgrade Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 500: "Internal Server Error",
        501: "Not Implemented", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported",
    ]
}

/// The error of an HTTP request that cannot be parsed or answered, with the status of the response.
///
/// After a parser error the connection must be closed, because it is unknown where the next request
/// begins.
public struct HTTPError: Error, Hashable, Sendable {
    public let status: HTTPStatus
    /// The error message for the developer of the client; it repeats nothing of the request.
    public let message: String

    public init(_ status: HTTPStatus, _ message: String) {
        self.status = status
        self.message = message
    }
}
