import CLibuv

/// An error of the operating system: the cases that callers distinguish, and the code of all
/// others.
package enum NetworkError: Error, Hashable, Sendable {
    /// Another socket listens at this address; `doing` names the address.
    case addressInUse(doing: String)

    /// Nobody listens at the dialled address.
    case refused

    /// The peer's end is gone, and with it everything on its way.
    case reset

    /// A host's name has no address: the name, and the reason.
    case unresolved(String, String)

    /// No response in the time allowed.
    case timedOut

    /// The process or the machine has no descriptor left.
    case tooManyFiles

    /// The peer did not prove that it may connect.
    case distrusted(HandshakeError)

    /// Any other error: a negative errno, as libuv returns it, and the operation that failed.
    case other(code: Int32, doing: String)

    init(_ code: Int32, doing: String) {
        self =
            switch code {
            case UV_EADDRINUSE.rawValue: .addressInUse(doing: doing)
            case UV_ECONNREFUSED.rawValue: .refused
            case UV_ECONNRESET.rawValue, UV_EPIPE.rawValue: .reset
            case UV_ETIMEDOUT.rawValue: .timedOut
            case UV_EMFILE.rawValue, UV_ENFILE.rawValue: .tooManyFiles
            default: .other(code: code, doing: doing)
            }
    }

    /// Throws unless libuv's return code means success.
    static func check(_ code: Int32, doing: String) throws(NetworkError) {
        guard code < 0 else { return }
        throw NetworkError(code, doing: doing)
    }
}

extension NetworkError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .addressInUse(let doing): "\(doing): the address is in use"
        case .refused: "the connection was refused"
        case .reset: "the connection was reset by the peer"
        case .unresolved(let name, let why): "the name \(name) leads to no address: \(why)"
        case .timedOut: "no answer in time"
        case .tooManyFiles: "too many open files"
        case .distrusted(let why): "\(why)"
        case .other(let code, let doing): "\(doing): \(String(cString: uv_strerror(code)))"
        }
    }
}
