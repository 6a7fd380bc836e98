import HTTP

/// An HTTP response that contains a file of the web pages, before it is encoded.
struct WebPage: Equatable, Sendable {
    var status = HTTPStatus.ok
    let contentType: String
    var body: [UInt8]
    var isCompressed = false
    let tag: String
    /// The value of the header field `Content-Security-Policy`; nil for a module or a style sheet,
    /// to which the policy of the page that loads it applies.
    let policy: String?

    init(_ file: WebFile, _ tag: EntityTag, policy: String?) {
        contentType = file.contentType
        body = file.bytes
        // Weak: a compressed file has the same tag as the file itself (RFC 9110, section 8.8.1).
        self.tag = "W/" + tag.text
        self.policy = policy
    }
}

extension ResponseHead {
    /// Adds the security and caching header fields of a web page: its policies, and `no-cache`, so
    /// that browsers revalidate every file before they use it.
    mutating func add(_ page: WebPage) {
        add("Cache-Control", "no-cache")
        add("ETag", page.tag)
        add("Vary", "Accept-Encoding")
        if page.isCompressed { add("Content-Encoding", "gzip") }
        add("X-Content-Type-Options", "nosniff")
        guard let policy = page.policy else { return }
        add("Content-Security-Policy", policy)
        add("Permissions-Policy", "microphone=(self), camera=(), geolocation=(), payment=()")
        add("Cross-Origin-Opener-Policy", "same-origin")
        add("Referrer-Policy", "no-referrer")
    }
}
