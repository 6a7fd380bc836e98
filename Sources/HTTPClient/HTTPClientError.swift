import CCurl

/// The reason why an HTTP request got no response.
package enum HTTPClientError: Error, Hashable, Sendable {
    /// The URL or a header of the request is malformed.
    case malformed

    /// The server's host name has no IP address.
    case unresolved

    /// The server's IP addresses do not belong to the public Internet.
    case privateAddress

    /// No server listens at the server's addresses, or no network route leads there.
    case unreachable

    /// The server's certificate does not match the host name, or no trusted authority has signed
    /// it.
    case distrusted

    /// The server sent no HTTP status within the time limit.
    case timedOut

    /// The server closed the connection, or the request's HTTP/2 stream, before it sent a status.
    case reset

    /// The response is too long, and contained no status so far.
    case tooLong

    /// Any other error, with libcurl's error code.
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
