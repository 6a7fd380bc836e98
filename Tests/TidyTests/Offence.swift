/// A finding of a check: the place, and what to do instead.
struct Offence: Equatable, CustomStringConvertible {
    let path: String
    /// Counted from 1; nil where the file or folder itself is the offence.
    let line: Int?
    let complaint: String

    init(_ path: String, line: Int? = nil, _ complaint: String) {
        self.path = path
        self.line = line
        self.complaint = complaint
    }

    var description: String {
        line.map { "\(path):\($0): \(complaint)" } ?? "\(path): \(complaint)"
    }
}
