import HTTP
import Wire

/// The header values of every answer on a connection, whichever part of the program makes it.
struct AnswerContext: Sendable {
    /// The maximum length of an `X-Request-Id` that is echoed, in bytes.
    private static let requestIDBytesMax = 64

    /// The value of `Access-Control-Allow-Origin`; nil for none.
    var origin: String?
    /// The `X-Request-Id` of the request, echoed so that the client finds the answer in its log.
    var requestID: String?
    /// Whether the connection is encrypted, so that answers have `Strict-Transport-Security`.
    var isEncrypted = false

    /// The context of answers to a request that could not be read.
    ///
    /// The sending page is unknown, and the error is no secret, so any origin may read the answer.
    static let unread = AnswerContext(origin: "*")

    /// Returns the `X-Request-Id` of a request; nil if there is none, or none that may be echoed.
    static func requestID(in head: RequestHead) -> String? {
        let values = head.fields.values(of: "x-request-id")
        guard let id = values.first, values.count == 1, !id.isEmpty,
            id.utf8.count <= requestIDBytesMax, id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return id
    }
}

extension ResponseHead {
    /// Adds the CORS header fields that let a page of this origin read the response.
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
