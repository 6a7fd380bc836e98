/// The media type of an uploaded file, detected once from the file's first bytes.
///
/// The client's `Content-Type` is ignored, because a browser must not execute an HTML page that was
/// uploaded as an image.
enum ContentType {
    /// The number of a file's first bytes from which its media type is detected.
    static let bytesNeeded = 64
    /// The media type of all files without a known signature.
    static let unknown = "application/octet-stream"

    /// The signature of each media type, and the signature's offset in a file, in bytes.
    private static let signatures: [(offset: Int, bytes: [UInt8], type: String)] = [
        (0, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], "image/png"),
        (0, [0xFF, 0xD8, 0xFF], "image/jpeg"),
        (0, Array("GIF87a".utf8), "image/gif"),
        (0, Array("GIF89a".utf8), "image/gif"),
        (8, Array("WEBP".utf8), "image/webp"),
        (8, Array("avif".utf8), "image/avif"),
        (8, Array("heic".utf8), "image/heic"),
        (8, Array("heix".utf8), "image/heic"),
        (8, Array("mif1".utf8), "image/heif"),
        (8, Array("WAVE".utf8), "audio/wav"),
        (0, Array("OggS".utf8), "audio/ogg"),
        (0, Array("ID3".utf8), "audio/mpeg"),
        (0, [0xFF, 0xFB], "audio/mpeg"),
        (0, [0xFF, 0xFA], "audio/mpeg"),
        (0, [0xFF, 0xF3], "audio/mpeg"),
        (0, [0xFF, 0xF2], "audio/mpeg"),
        (0, Array("fLaC".utf8), "audio/flac"),
        (8, Array("M4A ".utf8), "audio/mp4"),
        (8, Array("qt  ".utf8), "video/quicktime"),
        (4, Array("ftyp".utf8), "video/mp4"),
        (0, [0x1A, 0x45, 0xDF, 0xA3], "video/webm"),
        (0, Array("%PDF-".utf8), "application/pdf"),
    ]

    static func sniff(_ bytes: some Collection<UInt8>) -> String {
        let start = Array(bytes.prefix(bytesNeeded))
        let match = signatures.first { start.dropFirst($0.offset).starts(with: $0.bytes) }
        return match?.type ?? unknown
    }

    /// Returns a file's stored media type if it is one that this program detects; `unknown`
    /// otherwise.
    static func known(_ type: String?) -> String {
        signatures.contains { $0.type == type } ? type ?? unknown : unknown
    }

    /// Whether a browser may show files of this media type in a page.
    static func isShown(_ type: String) -> Bool {
        ["image/", "audio/", "video/"].contains { type.hasPrefix($0) }
    }
}
