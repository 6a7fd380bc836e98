import Compression
import HTTP
import LineProtocol
import Wire

/// An HTTP response to a client of the API, before it is encoded.
struct AppResponse: Sendable {
    var status: HTTPStatus
    var contentType = "application/json"
    /// The response body, in pieces that are sent one after the other.
    var body: [[UInt8]] = []
    /// The value of the header field `Grapevine-Token`: the session token that names the versions
    /// that the request has read and written.
    var token: String?
    /// The value of the header field `Allow`: the HTTP methods of the request's path.
    var allowed: String?
    /// The value of the header field `Retry-After`, in seconds.
    var retryAfter: Int?
    /// The file that the response contains; nil for any other response.
    var file: File?
    /// The web page that the response contains; nil for any other response.
    private var page: WebPage?
    /// Whether the request was no WebSocket handshake although its path needs one (426).
    var needsUpgrade = false
    /// Whether the response answers a CORS preflight request.
    var isPreflight = false
    /// Whether the response body may be compressed, since the client accepts gzip.
    var mayCompress = false
    private var isCompressed = false
    var closes = false
    /// Whether the response body is an event stream, which lasts as long as the connection.
    var isStream = false

    /// The header values of a response that contains a file, or a range of its bytes.
    struct File: Sendable {
        let name: String
        let tag: String
        /// Whether the value of `Content-Disposition` is `inline`, and not `attachment`.
        let isShown: Bool
        /// The value of the header field `Content-Range`; nil if the whole file is sent.
        var range: String?
    }

    init(_ status: HTTPStatus, body: [[UInt8]]) {
        self.status = status
        self.body = body
    }

    init(_ error: LineError) {
        self.init(HTTPStatus(rawValue: error.codeInAPI), body: [error.json])
        retryAfter = error.secondsToWait
    }

    init(_ page: WebPage) {
        self.init(page.status, body: [page.body])
        contentType = page.contentType
        self.page = page
        self.page?.body = []
    }

    init(_ error: HTTPError) {
        self.init(LineError(error.status.rawValue, error.message))
    }

    /// Returns the response's head, with header fields that keep browsers from guessing the type of
    /// its content.
    ///
    /// - Parameter length: how the end of the response body is marked, such as by its length.
    func head(_ length: ResponseHead.Body, in context: AnswerContext) -> ResponseHead {
        var head = ResponseHead(status, body: length)
        head.closes = closes
        head.add("Content-Type", contentType)
        if let page {
            head.add(page)
        } else {
            addPolicies(to: &head)
        }
        if context.isEncrypted { head.add("Strict-Transport-Security", "max-age=31536000") }
        if let token { head.add("Grapevine-Token", token) }
        if let allowed { head.add("Allow", allowed) }
        if let retryAfter { head.add("Retry-After", "\(retryAfter)") }
        if status == .unauthorized { head.add("WWW-Authenticate", "Bearer") }
        // Pages of other origins may not read a web page, so a web page gets no CORS header fields.
        if page == nil { head.add(origin: context.origin) }
        if let id = context.requestID { head.add("X-Request-Id", id) }
        // Without this field, a proxy may buffer the event stream instead of passing each event on.
        if isStream { head.add("X-Accel-Buffering", "no") }
        if needsUpgrade {
            head.add("Upgrade", "websocket")
            head.add("Connection", "Upgrade")
            head.add("Sec-WebSocket-Version", "13")
        }
        if isPreflight {
            head.add("Access-Control-Allow-Methods", allowed ?? "")
            head.add(
                "Access-Control-Allow-Headers",
                "Authorization, Content-Type, Grapevine-Operation, Grapevine-Token, "
                    + "If-None-Match, If-Range, Last-Event-ID, Range, X-Request-Id")
            head.add("Access-Control-Max-Age", "600")
        }
        return head
    }

    /// Adds the caching and security header fields of responses that are no web pages; the Content
    /// Security Policy among them forbids browsers to load anything.
    private func addPolicies(to head: inout ResponseHead) {
        head.add("Cache-Control", file == nil ? "no-store" : "private, no-cache")
        if let file {
            head.add("ETag", file.tag)
            head.add("Accept-Ranges", "bytes")
            let disposition = file.isShown ? "inline" : "attachment"
            head.add("Content-Disposition", "\(disposition); filename=\"\(file.name)\"")
            if let range = file.range { head.add("Content-Range", range) }
        }
        head.add("X-Content-Type-Options", "nosniff")
        head.add("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
        head.add("Referrer-Policy", "no-referrer")
        if isCompressed { head.add("Content-Encoding", "gzip") }
    }

    /// Whether the response body will be compressed, which it is if the client accepts gzip and the
    /// body's size is within the limits.
    ///
    /// Responses to chat requests contain no secret that their compressed length could reveal.
    /// Responses about accounts contain tokens, and are therefore never compressed.
    var isToBeCompressed: Bool {
        let range = AppLimits.compressedBytesMin...AppLimits.compressedBytesMax
        return mayCompress && range.contains(body.byteCount)
    }

    /// Replaces the response body by its compressed form, unless that is nil.
    mutating func compress(to compressed: [UInt8]?) {
        guard let compressed else { return }
        body = [compressed]
        isCompressed = true
    }

    /// How the end of a complete response body is marked: by `Content-Length`.
    var length: ResponseHead.Body { .length(UInt64(body.byteCount)) }

    /// Returns the response's head as bytes.
    func head(_ length: ResponseHead.Body, in context: AnswerContext, date: String) -> [UInt8] {
        var writer = ByteWriter(reserving: 1_024)
        writer.write(head(length, in: context), date: date)
        return writer.bytes
    }
}

extension [[UInt8]] {
    /// The total size of these byte arrays, in bytes.
    var byteCount: Int { reduce(0) { $0 + $1.count } }
}
