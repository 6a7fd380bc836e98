import HTTP
import Wire

/// What every answer on a connection carries, whichever part of the program makes it.
struct AnswerContext: Sendable {
    /// The most characters of a request's id that are given back.
    private static let requestIDBytesMax = 64

    /// The allowed origin of the page that may read the answer; nil for none.
    var origin: String?
    /// The id that the client has given the request, so that it recognizes the answer in its log.
    var requestID: String?
    /// Whether the connection is encrypted: browsers are to use no other.
    var isEncrypted = false

    /// The context of answers to a request that could not be read.
    ///
    /// Whose page sent it is not known, and the error is no secret.
    static let unread = AnswerContext(origin: "*")

    /// Returns the id in a request's head; nil where there is none, or none that may be repeated.
    static func requestID(in head: RequestHead) -> String? {
        let values = head.fields.values(of: "x-request-id")
        guard let id = values.first, values.count == 1, !id.isEmpty,
            id.utf8.count <= requestIDBytesMax, id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return id
    }
}

extension ResponseHead {
    /// Adds what lets a page of this origin read the response.
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
