import Testing
import Wire

struct NamesTests {
    @Test func `a name has 1 to 64 bytes of its alphabet`() {
        #expect(UserID("") == nil)
        #expect(UserID("a") != nil)
        #expect(UserID(String(repeating: "a", count: 64)) != nil)
        #expect(UserID(String(repeating: "a", count: 65)) == nil)
    }

    @Test func `the alphabet is exactly that of the contract`() {
        let alphabet = Set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@-".utf8)
        for byte in UInt8.min...UInt8.max {
            #expect(isName([byte]) == alphabet.contains(byte), "byte \(byte)")
            #expect(isName([97, byte]) == alphabet.contains(byte), "byte \(byte)")
        }
        #expect(UserID("zo\u{EB}") == nil)
        #expect(UserID("a b") == nil)
        #expect(UserID("a\u{0}") == nil)
    }

    @Test func `names are ordered by their bytes`() {
        let texts = ["-", ".", "0", "9", ":", "@", "A", "Z", "_", "a", "aa", "b", "z"]
        for (index, text) in texts.enumerated() {
            for later in texts[(index + 1)...] {
                #expect(UserID(checked: text) < UserID(checked: later))
            }
        }
    }
}
