/// The host names under which clients may reach an HTTP port.
///
/// A foreign site can let its own name resolve to this machine, and then read this port's responses
/// as same-origin (DNS rebinding), but the browser still sends the site's name as `Host`. The name
/// of such a site has a dot and is no IP address, so names without a dot and IP addresses are
/// always allowed.
package struct ServedNames: Hashable, Sendable {
    private let names: Set<String>

    /// - Parameters:
    ///   - names: the allowed host names beside those of the nodes, without ports.
    ///   - nodes: the addresses at which browsers reach the nodes, whose host names are allowed,
    ///     too.
    package init(_ names: [String], of nodes: [WebOrigin]) {
        self.names = Set((names + nodes.map { String($0.host) }).map { $0.lowercased() })
    }

    /// - Parameter host: the value of the header field `Host`, with its port.
    func contains(_ host: String) -> Bool {
        guard !isAddress(host[...]) else { return true }
        let name = host.prefix { $0 != ":" }.lowercased()
        let plain = name.hasSuffix(".") ? String(name.dropLast()) : name
        return !plain.contains(".") || plain.hasSuffix(".localhost") || names.contains(plain)
    }
}
