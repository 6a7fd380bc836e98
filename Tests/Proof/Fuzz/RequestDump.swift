import HTTP
import Wire

/// The requests that the reader finds in some bytes, as lines that another program compares with
/// what other readers find.
package enum RequestDump {
    /// Returns the lines of each request, and `X` behind the last where the rest was refused.
    ///
    /// A request is `R <method> <path>`, `F <name> <value>` for each header field, `B <body>` and
    /// `E`. The parts of a path, values and bodies are in hexadecimal.
    package static func lines(for input: [UInt8]) -> [String] {
        var reader = RequestReader()
        var lines: [String] = []
        var body: [UInt8] = []
        input.withUnsafeBytes { bytes in
            var rest = bytes[...]
            do throws(HTTPError) {
                while let event = try reader.next(&rest) {
                    switch event {
                    case .head(let head):
                        lines += self.lines(for: head)
                        body = []
                    case .body(let part): body += part
                    case .end: lines += ["B " + hexadecimal(body), "E"]
                    }
                }
            } catch {
                lines.append("X")
            }
        }
        return lines
    }

    private static func lines(for head: RequestHead) -> [String] {
        let path = head.target.segments.map { hexadecimal(Array($0.utf8)) }.joined(separator: "/")
        let fields = head.fields.all.map { "F \($0.name) \(hexadecimal(Array($0.value.utf8)))" }
        return ["R \(head.method.rawValue) \(path)"] + fields
    }
}
