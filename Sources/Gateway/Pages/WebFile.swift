import HTTP
import Web
import Wire

/// A file that belongs to the web pages of a node.
struct WebFile: Sendable {
    let contentType: String
    let bytes: [UInt8]
    private let hash: String

    /// - Parameter name: the file name, whose extension gives the content type.
    init(_ bytes: [UInt8], named name: String) {
        self.bytes = bytes
        contentType = WebFile.contentType(of: name)
        hash = WebFile.hash(of: bytes)
    }

    /// Returns the `ETag` of the file under a Content Security Policy, so that a copy that a
    /// browser has cached under another policy is not reused.
    func tag(under policy: String?) -> EntityTag {
        EntityTag(policy.map { hash + "-" + WebFile.hash(of: Array($0.utf8)) } ?? hash)
    }

    /// Returns 64 bits of the hash of a file's bytes, enough to distinguish the versions of the
    /// file.
    private static func hash(of bytes: [UInt8]) -> String {
        String(Hash128(of: bytes).description.prefix(16))
    }

    /// The files of the web pages, which the executable contains, by their paths in `Sources/Web`.
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
        // Modules and workers are UTF-8 (HTML, sections 8.1.4.2 and 10.2.1).
        case "js": "text/javascript"
        case "svg": "image/svg+xml"
        case "json": "application/json"
        case "webmanifest": "application/manifest+json"
        default: ContentType.unknown
        }
    }
}
