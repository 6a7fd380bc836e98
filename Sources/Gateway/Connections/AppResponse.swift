import Compression
import HTTP
import LineProtocol
import Wire

/// A response of the port for apps, before it is written.
struct AppResponse: Sendable {
    var status: HTTPStatus
    var contentType = "application/json"
    /// In pieces, which are sent one after the other.
    var body: [[UInt8]] = []
    /// The token that stands for what the request has seen and done.
    var token: String?
    /// The methods that the path has, where the request's is none of them.
    var allowed: String?
    /// The seconds after which the request may be repeated.
    var retryAfter: Int?
    /// The file that the response shows; nil for none.
    var file: File?
    /// The web page that the response is; nil for none.
    private var page: WebPage?
    /// Whether the path is a WebSocket, and the request was none.
    var needsUpgrade = false
    /// Whether a browser asks what a page of another origin may send.
    var isPreflight = false
    /// Whether the body is compressed where the client takes that and it is worth it.
    var mayCompress = false
    private var isCompressed = false
    var closes = false
    /// Whether events follow for as long as the connection lasts.
    var isStream = false

    /// A file, or a part of it.
    struct File: Sendable {
        let name: String
        let tag: String
        /// Whether a page may show it; otherwise a browser stores it.
        let isShown: Bool
        /// The value of `Content-Range`; nil for all of it.
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

    /// The head, with the fields that keep browsers from guessing what a response is.
    ///
    /// - Parameter length: the form of the body.
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
        // A page is read by browsers that show it, and not by pages of other origins.
        if page == nil { head.add(origin: context.origin) }
        if let id = context.requestID { head.add("X-Request-Id", id) }
        // A proxy that collects what it passes on would hand on no event.
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
                "Authorization, Content-Type, Grapevine-Token, If-None-Match, If-Range, "
                    + "Last-Event-ID, Range, X-Request-Id")
            head.add("Access-Control-Max-Age", "600")
        }
        return head
    }

    /// Adds the fields of answers that are no web pages: a browser that shows one loads nothing.
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

    /// Whether the body is to be compressed: that is wanted and worth it.
    ///
    /// What the answers to users' requests say was written by them and by others, and holds no
    /// secret that its length could tell; answers about accounts, with tokens, stay as they are.
    var isToBeCompressed: Bool {
        let range = AppLimits.compressedBytesMin...AppLimits.compressedBytesMax
        return mayCompress && range.contains(body.byteCount)
    }

    /// Replaces the body by its compressed form, if there is one.
    mutating func compress(to compressed: [UInt8]?) {
        guard let compressed else { return }
        body = [compressed]
        isCompressed = true
    }

    /// The form of a body that is at hand.
    var length: ResponseHead.Body { .length(UInt64(body.byteCount)) }

    /// Returns the head as it is sent.
    func head(_ length: ResponseHead.Body, in context: AnswerContext, date: String) -> [UInt8] {
        var writer = ByteWriter(reserving: 1_024)
        writer.write(head(length, in: context), date: date)
        return writer.bytes
    }
}

extension [[UInt8]] {
    /// The bytes of all pieces together.
    var byteCount: Int { reduce(0) { $0 + $1.count } }
}
