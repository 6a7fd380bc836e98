import Testing

@testable import Gateway

@Suite struct ClientAddressTests {
    @Test(arguments: [
        (
            "198.51.100.7",
            [
                "198.51.100.7:50000", " 198.51.100.7", "::ffff:198.51.100.7", "::FFFF:c633:6407",
            ]
        ),
        (
            "2001:db8:1:2::/64",
            [
                "2001:0DB8:1:2::7", "2001:db8:1:2::7", "[2001:db8:1:2::7]",
                "[2001:db8:1:2::7]:443", "2001:db8:1:2::7%eth0", "2001:db8:1:2:3:4:0.0.0.7",
            ]
        ),
        ("0:0:0:0::/64", ["::1", "[::1]:80", "0::1", "::"]),
        ("unknown", ["Unknown"]),
    ])
    func anAddressIsOneHoweverAProxySpellsIt(_ address: String, _ spellings: [String]) {
        for spelling in spellings {
            #expect(clientAddress(spelling[...]) == address)
        }
    }

    @Test(arguments: [
        "", "[", "1.2.3", "1.2.3.256", "1.2.3.4.5", "::1::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
        "1:2:3:4:5:6:7::8:9", "12345::", "g::", "+1::", ":::", "1.2.3.4::",
    ])
    func whatIsNoAddressStaysAsItIs(_ text: String) {
        #expect(clientAddress(text[...]) == text)
    }

    @Test func whatIsNoAddressIsCut() {
        #expect(clientAddress(String(repeating: "A", count: 10_000)[...]).utf8.count == 64)
    }
}
