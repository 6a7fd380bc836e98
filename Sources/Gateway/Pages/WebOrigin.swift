/// The origin of web pages: a scheme, a host and a port, spelt as browsers send it (RFC 6454,
/// section 6.1).
///
/// An origin is inserted into `Content-Security-Policy`, so its text must contain only a scheme, a
/// host and a port.
package struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of origins in one command-line option; the response head of each web page
    /// lists all of them.
    package static let countMax = 64

    private let isEncrypted: Bool
    private let authority: String

    /// Creates an origin; nil for a text that is not spelt as browsers spell origins: in lower
    /// case, and without the default port of the scheme.
    package init?(_ text: String) {
        isEncrypted = text.hasPrefix("https://")
        guard isEncrypted || text.hasPrefix("http://") else { return nil }
        authority = String(text.dropFirst(isEncrypted ? 8 : 7))
        let (host, port) = WebOrigin.parts(of: authority[...])
        guard WebOrigin.isHost(host) else { return nil }
        guard let port else { return }
        guard let number = UInt16(port), "\(number)" == port, number != 0,
            number != (isEncrypted ? 443 : 80)
        else { return nil }
    }

    package var description: String { (isEncrypted ? "https://" : "http://") + authority }

    /// The host of the origin, without the port.
    var host: Substring { WebOrigin.parts(of: authority[...]).host }

    /// The WebSocket origin of the same host and port, as a Content Security Policy has to name it.
    var ofSockets: String { (isEncrypted ? "wss://" : "ws://") + authority }

    /// Returns the host and the port in the text after the `://` of an origin; the port is nil if
    /// that text has no colon, or ends with `]`, as an IPv6 address without a port does.
    private static func parts(of authority: Substring) -> (host: Substring, port: Substring?) {
        guard let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") else {
            return (authority, nil)
        }
        return (authority[..<colon], authority[colon...].dropFirst())
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("[") {
            let address = host.dropFirst().dropLast()
            return host.hasSuffix("]") && !address.isEmpty
                && address.utf8.allSatisfy { isDigitOrLetter($0, to: "f") || $0 == 0x3A }
        }
        return !host.isEmpty && !host.hasPrefix(".") && !host.hasPrefix("-")
            && host.utf8.allSatisfy {
                isDigitOrLetter($0, to: "z") || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
            }
    }

    private static func isDigitOrLetter(_ byte: UInt8, to last: Unicode.Scalar) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: last)).contains(byte)
    }
}
