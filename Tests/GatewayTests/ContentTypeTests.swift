import Testing

@testable import Gateway

@Suite struct ContentTypeTests {
    @Test(arguments: [
        ("\u{89}PNG\r\n\u{1A}\n", "image/png"), ("\u{FF}\u{D8}\u{FF}\u{E0}", "image/jpeg"),
        ("GIF89a", "image/gif"), ("RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ("RIFF\0\0\0\0WAVEfmt ", "audio/wav"), ("\0\0\0\u{18}ftypavif", "image/avif"),
        ("\0\0\0\u{18}ftypM4A ", "audio/mp4"), ("\0\0\0\u{18}ftypisom", "video/mp4"),
        ("%PDF-1.7", "application/pdf"),
    ])
    func `a type is told by the first bytes`(_ start: String, _ type: String) {
        let bytes = start.unicodeScalars.map { UInt8($0.value) } + [UInt8](repeating: 1, count: 90)
        #expect(ContentType.sniff(bytes) == type)
    }

    @Test(arguments: [
        "", "P", "<!doctype html><script>", "<svg xmlns='http://www.w3.org/2000/svg'>", "plain",
        " GIF89a", "MZ\u{90}",
    ])
    func `what may run in a page, and everything else, has no type that is shown`(_ start: String) {
        let type = ContentType.sniff(start.unicodeScalars.map { UInt8($0.value) })
        #expect(type == ContentType.unknown && !ContentType.isShown(type))
    }
}
