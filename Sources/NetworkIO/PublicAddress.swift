extension SocketAddress {
    /// Whether the address may be one of the public Internet: it leads neither to this machine nor
    /// into its network, and is not reserved.
    ///
    /// Source: the IANA registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890).
    package var isPublic: Bool {
        switch host {
        case .version4(let address): IPv4.isPublic(address)
        // Written as IPv6 (RFC 4291, section 2.5.5.2).
        case .version6(high: 0, let low) where low >> 32 == 0xFFFF:
            IPv4.isPublic(UInt32(truncatingIfNeeded: low))
        // Translated by the network (RFC 6052, section 2.1).
        case .version6(high: 0x64_FF9B << 32, let low) where low >> 32 == 0:
            IPv4.isPublic(UInt32(truncatingIfNeeded: low))
        // Carried by a tunnel (6to4: RFC 3056, section 2).
        case .version6(let high, _) where high >> 48 == 0x2002:
            IPv4.isPublic(UInt32(truncatingIfNeeded: high >> 16))
        case .version6(let high, _): IPv6.isPublic(high)
        }
    }
}

private enum IPv4 {
    /// The ranges that are not public, each as its first address and the bits that it shares.
    private static let special: [(first: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8),  // 0.0.0.0: this machine
        (0x0A00_0000, 8),  // 10.0.0.0: private
        (0x6440_0000, 10),  // 100.64.0.0: shared by customers of a provider
        (0x7F00_0000, 8),  // 127.0.0.0: loopback
        (0xA9FE_0000, 16),  // 169.254.0.0: link-local, and the metadata of clouds
        (0xAC10_0000, 12),  // 172.16.0.0: private
        (0xC000_0000, 24),  // 192.0.0.0: protocols
        (0xC000_0200, 24),  // 192.0.2.0: documentation
        (0xC058_6300, 24),  // 192.88.99.0: relays of 6to4
        (0xC0A8_0000, 16),  // 192.168.0.0: private
        (0xC612_0000, 15),  // 198.18.0.0: benchmarks
        (0xC633_6400, 24),  // 198.51.100.0: documentation
        (0xCB00_7100, 24),  // 203.0.113.0: documentation
        (0xE000_0000, 4),  // 224.0.0.0: multicast
        (0xF000_0000, 4),  // 240.0.0.0: reserved, and broadcast
    ]

    static func isPublic(_ address: UInt32) -> Bool {
        !special.contains { address >> (32 - $0.bits) == $0.first >> (32 - $0.bits) }
    }
}

private enum IPv6 {
    /// The ranges of 2000::/3 that are not public, as the first halves of their addresses.
    private static let special: [(first: UInt64, bits: UInt64)] = [
        (0x2001_0000 << 32, 23),  // 2001::: protocols, among them the tunnels of Teredo
        (0x2001_0DB8 << 32, 32),  // 2001:db8::: documentation
        (0x3FFF_0000 << 32, 20),  // 3fff::: documentation
    ]

    /// - Parameter high: the first half of the address.
    static func isPublic(_ high: UInt64) -> Bool {
        // All of the addresses that are given out to networks (RFC 4291, section 2.4).
        high >> 61 == 1
            && !special.contains { high >> (64 - $0.bits) == $0.first >> (64 - $0.bits) }
    }
}
