import CCurl

/// The cause for which a request got no HTTP response.
package enum HTTPClientError: Error, Hashable, Sendable {
    /// The address or a header is not one.
    case malformed

    /// The server's name has no address.
    case unresolved

    /// The server's addresses are not of the public Internet.
    case privateAddress

    /// Nobody listens at the server's addresses, or no route leads there.
    case unreachable

    /// The server's certificate is not one of that server, by an authority that is trusted.
    case distrusted

    /// No status in the time allowed.
    case timedOut

    /// The server has ended the connection, or the request's part of it, without a status.
    case reset

    /// The answer is too long, and has no status so far.
    case tooLong

    /// Any other error, by libcurl's number.
    case other(code: UInt32)

    init(_ code: CURLcode) {
        self =
            switch code {
            case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_LOGIN_DENIED: .malformed
            case CURLE_COULDNT_RESOLVE_HOST: .unresolved
            case CURLE_COULDNT_CONNECT: .unreachable
            case CURLE_PEER_FAILED_VERIFICATION: .distrusted
            case CURLE_OPERATION_TIMEDOUT: .timedOut
            case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE,
                CURLE_HTTP2, CURLE_HTTP2_STREAM:
                .reset
            case CURLE_WRITE_ERROR: .tooLong
            default: .other(code: code.rawValue)
            }
    }
}

extension HTTPClientError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed: "the address or a header is malformed"
        case .unresolved: "the server's name leads to no address"
        case .privateAddress: "the server's address is not public"
        case .unreachable: "no connection to the server"
        case .distrusted: "the server's certificate is not trusted"
        case .timedOut: "no answer in time"
        case .reset: "the connection was reset by the server"
        case .tooLong: "the answer is too long"
        case .other(let code): String(cString: curl_easy_strerror(CURLcode(rawValue: code)))
        }
    }
}
