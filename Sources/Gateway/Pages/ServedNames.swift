/// The names under which clients may reach a port over HTTP.
///
/// The page of a site elsewhere can have its own name lead to this machine, and then reads what the
/// port shows as if it were the site's (DNS rebinding); but it cannot keep the browser from sending
/// the name as `Host`. The name of a site has a dot and is no IP address, so that other names need
/// not be listed.
package struct ServedNames: Hashable, Sendable {
    private let names: Set<String>

    /// - Parameters:
    ///   - names: further names, without ports.
    ///   - nodes: the addresses at which browsers reach the nodes.
    package init(_ names: [String], of nodes: [WebOrigin]) {
        self.names = Set((names + nodes.map { String($0.host) }).map { $0.lowercased() })
    }

    /// - Parameter host: the value of `Host`, with its port.
    func contains(_ host: String) -> Bool {
        guard !isAddress(host[...]) else { return true }
        let name = host.prefix { $0 != ":" }.lowercased()
        let plain = name.hasSuffix(".") ? String(name.dropLast()) : name
        return !plain.contains(".") || plain.hasSuffix(".localhost") || names.contains(plain)
    }
}
