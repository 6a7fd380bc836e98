/// An HTTP POST request from this process to another server.
package struct OutgoingRequest: Sendable {
    /// The URL, `https://…` or `http://…`.
    package let url: String
    /// The names and values of headers; libcurl adds `Host`, `Accept` and `Content-Length`.
    package let headers: [(String, String)]
    package let body: [UInt8]
    /// The time limit for the whole response, from the start of the name resolution, in
    /// milliseconds.
    package let timeoutMilliseconds: UInt64

    package init(
        url: String, headers: [(String, String)], body: [UInt8], timeoutMilliseconds: UInt64
    ) {
        precondition(timeoutMilliseconds > 0, "libcurl takes 0 for no limit")
        self.url = url
        self.headers = headers
        self.body = body
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Whether libcurl will interpret the URL and the headers as they are meant.
    ///
    /// libcurl guesses the protocol of a URL without one, and sends a line break in a header
    /// unchanged.
    var isWellFormed: Bool {
        (isEncrypted || begins(with: "http://"))
            && url.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && headers.allSatisfy { name, value in
                !name.isEmpty && name.utf8.allSatisfy(OutgoingRequest.isOfName)
                    && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
            }
    }

    var isEncrypted: Bool { begins(with: "https://") }

    private func begins(with start: String) -> Bool {
        url.prefix(start.count).lowercased() == start
    }

    /// The header lines in the form that libcurl expects.
    var lines: [String] {
        // A name with only a colon removes a header that libcurl would add by itself.
        var lines = ["Expect:"]
        if !headers.contains(where: { $0.0.lowercased() == "content-type" }) {
            lines.append("Content-Type:")
        }
        return lines + headers.map { $1.isEmpty ? "\($0);" : "\($0): \($1)" }
    }

    /// Whether a byte may be part of a header's name (RFC 9110, section 5.6.2).
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
