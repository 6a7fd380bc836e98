/// The address of a listener, as a person writes it: `127.0.0.1:7101`, `[::1]:7101`, or the name of
/// a host, which is looked up each time it is dialled.
package struct Endpoint: Hashable, Sendable {
    enum Place: Hashable {
        case address(SocketAddress)
        case name(String)
    }

    let place: Place
    package let port: UInt16

    /// The most bytes of a host's name: with a port it fits into the address of a member.
    package static let nameBytesMax = 250

    /// Parses an endpoint; nil for one that cannot be dialled, port 0 included.
    package init?(_ text: String) {
        if let address = SocketAddress(text) {
            guard address.port > 0 else { return nil }
            place = .address(address)
            port = address.port
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            // The parser of addresses checks the port.
            let port = SocketAddress("0.0.0.0:" + text[text.index(after: colon)...])?.port,
            port > 0, Self.isName(text[..<colon])
        else { return nil }
        place = .name(String(text[..<colon]))
        self.port = port
    }

    package init(_ address: SocketAddress) {
        place = .address(address)
        port = address.port
    }

    /// Whether the text is a host's name: letters, digits, `-` and `.`, and a last part that is not
    /// a number, so that a mistyped address is not sent to name servers.
    private static func isName(_ text: Substring) -> Bool {
        guard (1...nameBytesMax).contains(text.utf8.count) else { return false }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let areLabels = parts.allSatisfy { part in
            !part.isEmpty && part.first != "-" && part.last != "-"
                && part.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == 0x2D }
        }
        return areLabels && !(parts.last ?? "").utf8.allSatisfy(isDigit)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

extension Endpoint: CustomStringConvertible {
    /// The text that parses to the same endpoint.
    package var description: String {
        switch place {
        case .address(let address): address.description
        case .name(let name): "\(name):\(port)"
        }
    }
}
