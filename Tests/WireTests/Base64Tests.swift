import Testing
import Wire

struct Base64Tests {
    @Test func `the words of RFC 4648, with its alphabet for names`() {
        #expect(Base64.encode([]) == "")
        #expect(Base64.encode(Array("f".utf8)) == "Zg")
        #expect(Base64.encode(Array("fo".utf8)) == "Zm8")
        #expect(Base64.encode(Array("foobar".utf8)) == "Zm9vYmFy")
        #expect(Base64.encode([0xFB, 0xFF]) == "-_8")
    }

    @Test func `what is written is read, and takes what is said`() {
        for count in 0..<200 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let text = Base64.encode(bytes)
            #expect(Base64.decode(text) == bytes)
            #expect(text.utf8.count == Base64.characters(of: count))
        }
    }

    @Test(arguments: ["Z", "Zh", "Zm9=", "Zm+v", "Zm 9v", "Zmé"])
    func `what is never written is refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
