/// The type of a file's content, told by its first bytes and fixed when it is uploaded.
///
/// What a client says of its file does not count: a page that is sent as an image must not run as
/// a page.
enum ContentType {
    /// The bytes by which a type is told.
    static let bytesNeeded = 64
    /// The type of everything else.
    static let unknown = "application/octet-stream"

    /// The first bytes of each type, and where they stand.
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

    /// Returns a type that a file was uploaded with, if it is one that is told by content.
    static func known(_ type: String?) -> String {
        signatures.contains { $0.type == type } ? type ?? unknown : unknown
    }

    /// Whether a browser may show content of the type in a page.
    static func isShown(_ type: String) -> Bool {
        ["image/", "audio/", "video/"].contains { type.hasPrefix($0) }
    }
}
