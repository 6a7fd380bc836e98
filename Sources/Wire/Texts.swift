/// Whether two texts have the same bytes; nil is a text of its own.
///
/// Swift's `==` takes for equal what only looks equal (é in one scalar or in two). Texts here are
/// kept exactly, and what differs in bytes differs in digest.
public func haveSameBytes(_ left: String?, _ right: String?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): left.utf8.elementsEqual(right.utf8)
    default: false
    }
}

/// Whether `left` comes before `right` in byte order; nil comes before every text.
public func precedesInBytes(_ left: String?, _ right: String?) -> Bool {
    guard let right else { return false }
    guard let left else { return true }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
}

extension String {
    /// This text on one line and without effect on a terminal, for logs and sentences.
    ///
    /// Control characters, line separators and marks that reorder text are spelled as data lines
    /// spell them.
    public var printable: String {
        guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": text += #"\n"#
            case "\r": text += #"\r"#
            case "\t": text += #"\t"#
            case _ where scalar.isUnprintable: text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// Whether a terminal does something else than to show it.
    public var isUnprintable: Bool {
        switch value {
        // C0, DEL and C1.
        case 0...0x1F, 0x7F...0x9F: true
        // Line and paragraph separators.
        case 0x2028, 0x2029: true
        // Embeddings, overrides and isolates of writing directions.
        case 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
