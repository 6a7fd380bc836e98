/// Whether two texts have the same bytes; nil equals only nil.
///
/// Swift's `==` treats canonically equivalent texts as equal (é as one scalar or as two). Texts are
/// stored exactly as they are, and texts with different bytes have different digests.
public func haveSameBytes(_ left: String?, _ right: String?) -> Bool {
    switch (left, right) {
    case (nil, nil): true
    case (let left?, let right?): left.utf8.elementsEqual(right.utf8)
    default: false
    }
}

/// Whether `left` precedes `right` in byte order; nil precedes every text.
public func precedesInBytes(_ left: String?, _ right: String?) -> Bool {
    guard let right else { return false }
    guard let left else { return true }
    return left.utf8.lexicographicallyPrecedes(right.utf8)
}

extension String {
    /// The text on one line and without effect on a terminal, for logs and error sentences.
    ///
    /// Control characters, line separators and marks that reorder text are escaped as in data
    /// lines.
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
    /// Whether a terminal does anything other than show the character.
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

extension String {
    /// Decodes UTF-8; nil for bytes that are not UTF-8.
    ///
    /// Nearly all texts are ASCII, for which `String(validating:as:)` takes many times as long.
    public init?(utf8 bytes: UnsafeRawBufferPointer) {
        guard !isASCII(bytes) else {
            self.init(decoding: bytes, as: UTF8.self)
            return
        }
        self.init(validating: bytes, as: UTF8.self)
    }
}

/// Whether all bytes are ASCII, as those of nearly every text are.
public func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var (bits, index) = (0 as UInt64, 0)
    while index + 8 <= bytes.count {
        bits |= bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        index += 8
    }
    while index < bytes.count {
        bits |= UInt64(bytes[index])
        index += 1
    }
    return bits & 0x8080_8080_8080_8080 == 0
}
