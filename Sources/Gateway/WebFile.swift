import HTTP
import Web
import Wire

/// A file of the web pages.
struct WebFile: Sendable {
    let contentType: String
    let bytes: [UInt8]
    let tag: EntityTag
    /// Whether it is sent without comments where it is compressed.
    let mayLoseComments: Bool

    /// - Parameter name: tells the type, by its ending.
    init(_ bytes: [UInt8], named name: String) {
        self.bytes = bytes
        contentType = WebFile.contentType(of: name)
        mayLoseComments = name.hasSuffix(".js") || name.hasSuffix(".css")
        tag = EntityTag(Hash128(of: bytes).description)
    }

    /// The files that the binary carries, by their paths in `Sources/Web`.
    static let embedded: [String: WebFile] = {
        var files: [String: WebFile] = [:]
        for index in 0..<web_file_count() {
            let file = web_file(index)
            let path = String(cString: file.path)
            let bytes = [UInt8](UnsafeBufferPointer(start: file.bytes, count: Int(file.count)))
            files[path] = WebFile(bytes, named: path)
        }
        return files
    }()

    private static func contentType(of name: String) -> String {
        switch name.split(separator: ".").last {
        case "html": "text/html; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "js": "text/javascript; charset=utf-8"
        case "svg": "image/svg+xml"
        case "json": "application/json"
        case "webmanifest": "application/manifest+json"
        default: ContentType.unknown
        }
    }
}
