import HTTP
import Wire

/// The values of the header fields that every HTTP response on a connection has, whichever part of
/// the program creates the response.
struct AnswerContext: Sendable {
    /// The maximum length of an `X-Request-Id` that is echoed, in bytes.
    private static let requestIDBytesMax = 64

    /// The value of the field `Access-Control-Allow-Origin`; nil if the response has no such field.
    var origin: String?
    /// The request's `X-Request-Id`, which the response repeats for the client's log.
    var requestID: String?
    /// Whether the connection is encrypted, so that responses have `Strict-Transport-Security`.
    var isEncrypted = false

    /// The header values of the response to an HTTP request that could not be parsed.
    ///
    /// The origin of the page that sent the request is unknown, and the error contains no secret,
    /// so pages of any origin may read the response.
    static let unread = AnswerContext(origin: "*")

    /// Returns the `X-Request-Id` of an HTTP request; nil if it is missing, repeated or not valid.
    static func requestID(in head: RequestHead) -> String? {
        let values = head.fields.values(of: "x-request-id")
        guard let id = values.first, values.count == 1, !id.isEmpty,
            id.utf8.count <= requestIDBytesMax, id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return id
    }
}

extension ResponseHead {
    /// Adds the CORS header fields that let web pages of an origin read the response; adds none if
    /// the origin is nil.
    mutating func add(origin: String?) {
        guard let origin else { return }
        add("Access-Control-Allow-Origin", origin)
        add(
            "Access-Control-Expose-Headers",
            "Accept-Ranges, Content-Disposition, Content-Range, Date, ETag, Grapevine-Token, "
                + "Retry-After, X-Request-Id")
        add("Vary", "Origin")
    }
}
