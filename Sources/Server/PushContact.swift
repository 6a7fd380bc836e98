/// The address at which push services reach who runs the cluster (RFC 8292, section 2.1).
struct PushContact: Sendable {
    /// An address that says nothing: where the operator has given none.
    private static let missing = "mailto:root@localhost"
    private static let schemes = ["mailto:", "https://"]
    /// The names under which nobody can be reached from elsewhere (RFC 2606, RFC 6762).
    private static let localNames: Set<Substring> = [
        "localhost", "local", "localdomain", "internal", "lan", "test", "example", "invalid",
    ]

    let text: String
    private let isGiven: Bool

    /// - Parameter text: `mailto:…` or `https://…`; nil where the operator has given none.
    init?(_ text: String?) {
        self.text = text ?? PushContact.missing
        isGiven = text != nil
        guard let text else { return }
        guard PushContact.isPlainAddress(text, PushContact.schemes) else { return nil }
    }

    /// Whether a text begins with one of the schemes and can stand in a header as it is.
    static func isPlainAddress(_ text: String, _ schemes: [String]) -> Bool {
        let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 }
        return isPlain && schemes.contains(where: text.hasPrefix)
    }

    /// Why some push services refuse every push; nil where they do not.
    var weakness: String? {
        guard isGiven else {
            return "--push-contact is missing: Apple's push service refuses all pushes"
        }
        guard !isReachable else { return nil }
        return "--push-contact \(text) cannot be reached from elsewhere: Apple's push service "
            + "refuses all pushes"
    }

    /// Whether it names a host in the domain name system.
    private var isReachable: Bool {
        let host: Substring
        if text.hasPrefix("mailto:") {
            let parts = text.dropFirst("mailto:".count).prefix { $0 != "?" }
                .split(separator: "@", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { return false }
            host = parts[1]
        } else {
            let rest = text.dropFirst("https://".count).prefix { !"/?#".contains($0) }
            host = (rest.split(separator: "@").last ?? "").prefix { $0 != ":" }
        }
        let labels = host.lowercased().split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, let last = labels.last, !labels.contains("") else { return false }
        return !PushContact.localNames.contains(last) && !last.allSatisfy(\.isNumber)
    }
}
