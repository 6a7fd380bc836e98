/// Returns a client's address, normalised for rate limits: without a port, and an IPv6 address as
/// its /64 prefix, since a client mostly owns a whole /64.
///
/// Proxies spell one address differently: with brackets and a port, in capitals, an IPv6 address
/// with or without its zeros, an IPv4 address as an IPv4-mapped IPv6 address.
package func clientAddress(_ text: Substring) -> String {
    let text = text.drop { $0 == " " }
    let host = withoutPort(text).prefix { $0 != "%" }
    guard let groups = groups(of: host) else {
        return String(text.prefix(addressBytesMax)).lowercased()
    }
    let isMapped = groups[..<5].allSatisfy { $0 == 0 } && groups[5] == 0xFFFF
    guard !isMapped else {
        return groups[6...].flatMap { [$0 >> 8, $0 & 0xFF] }.map { String($0) }
            .joined(separator: ".")
    }
    return groups[..<4].map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
}

/// Whether a host, perhaps with a port, is an IP address and not a host name.
func isAddress(_ host: Substring) -> Bool { groups(of: withoutPort(host)) != nil }

/// The maximum length of a forwarded client address that is not an IP address, in characters.
private let addressBytesMax = 64

private func withoutPort(_ text: Substring) -> Substring {
    if text.first == "[" { return text.dropFirst().prefix { $0 != "]" } }
    return text.count { $0 == ":" } == 1 ? text.prefix { $0 != ":" } : text
}

/// Returns the eight 16-bit groups of an IPv6 address, or of an IPv4 address as `::ffff:a.b.c.d`
/// (RFC 4291, section 2.5.5.2); nil if the text is no IP address.
private func groups(of text: Substring) -> [UInt16]? {
    guard text.contains(":") else {
        return fourBytes(of: text).map { [0, 0, 0, 0, 0, 0xFFFF] + $0 }
    }
    // Two colons replace a sequence of zero groups.
    guard let zeros = text.indices.first(where: { text[$0...].hasPrefix("::") }) else {
        let all = run(of: text, isLast: true)
        return all?.count == 8 ? all : nil
    }
    guard let first = run(of: text[..<zeros], isLast: false),
        let second = run(of: text[zeros...].dropFirst(2), isLast: true),
        first.count + second.count < 8
    else { return nil }
    return first + [UInt16](repeating: 0, count: 8 - first.count - second.count) + second
}

/// Returns the 16-bit groups of a part of an IPv6 address, whose last group may be an IPv4 address.
private func run(of text: Substring, isLast: Bool) -> [UInt16]? {
    guard !text.isEmpty else { return [] }
    var groups: [UInt16] = []
    let words = text.split(separator: ":", omittingEmptySubsequences: false)
    for (index, word) in words.enumerated() {
        if isLast, index == words.count - 1, let bytes = fourBytes(of: word) {
            groups += bytes
        } else if (1...4).contains(word.count), let group = UInt16(word, radix: 16),
            word.first != "+"
        {
            groups.append(group)
        } else {
            return nil
        }
    }
    return groups
}

/// Returns an IPv4 address as two 16-bit groups; nil if the text is no IPv4 address.
private func fourBytes(of text: Substring) -> [UInt16]? {
    let words = text.split(separator: ".", omittingEmptySubsequences: false)
    let bytes = words.compactMap { word in
        word.allSatisfy(\.isWholeNumber) ? UInt8(word).map(UInt16.init) : nil
    }
    guard words.count == 4, bytes.count == 4 else { return nil }
    return [bytes[0] << 8 | bytes[1], bytes[2] << 8 | bytes[3]]
}
