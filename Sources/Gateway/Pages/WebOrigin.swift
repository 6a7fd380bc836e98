/// The origin of web pages: a scheme, a host and a port, spelt as browsers send it (RFC 6454,
/// section 6.1).
///
/// Origins are inserted into `Content-Security-Policy`, so they may contain nothing else.
package struct WebOrigin: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of origins in one option: the head of each page lists all of them.
    package static let countMax = 64

    private let isEncrypted: Bool
    private let authority: String

    /// Fails for a text that is no origin as browsers spell it: in lower case, and without the
    /// default port of the scheme.
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

    /// The host, without the port.
    var host: Substring { WebOrigin.parts(of: authority[...]).host }

    /// The origin that a Content Security Policy has to name for WebSockets to the same host and
    /// port.
    var ofSockets: String { (isEncrypted ? "wss://" : "ws://") + authority }

    /// Returns the host, and the port behind the last colon; a colon within brackets is a part of
    /// an IPv6 address.
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
