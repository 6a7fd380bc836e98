/// The part of a file that an HTTP request asks for with `Range` (RFC 9110, section 14).
public enum ByteRange: Hashable, Sendable {
    /// The whole file, because the request has no `Range`, or one that is not supported.
    case whole
    case part(Range<UInt64>)
    /// No byte of the file (416).
    case outside

    /// Parses the value of the header field `Range`.
    ///
    /// A value with several ranges, another unit or an invalid syntax is answered with the whole
    /// file, as the RFC allows.
    ///
    /// - Parameter size: the file's size in bytes.
    public init(_ value: String?, of size: UInt64) {
        guard let value, value.hasPrefix("bytes=") else {
            self = .whole
            return
        }
        let ends = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy(ByteRange.isNumber), ends != ["", ""] else {
            self = .whole
            return
        }
        guard let first = UInt64(ends[0]) else {
            let length = min(UInt64(ends[1]) ?? 0, size)
            self = length == 0 ? .outside : .part(size - length..<size)
            return
        }
        let last = UInt64(ends[1]) ?? .max
        guard first <= last else {
            self = .whole
            return
        }
        self = first < size ? .part(first..<min(last, size - 1) + 1) : .outside
    }

    private static func isNumber(_ text: Substring) -> Bool {
        text.utf8.count <= 18 && text.utf8.allSatisfy(\.isDigit)
    }
}

/// The entity tag that identifies the current content of a file (RFC 9110, section 8.8.3).
public struct EntityTag: Hashable, Sendable {
    /// The entity tag with its quotes, as in the header field.
    public let text: String

    /// - Parameter name: the tag without quotes: letters, digits and `-`.
    public init(_ name: String) { text = "\"\(name)\"" }

    /// Whether a client that sent `If-None-Match` already has the content.
    ///
    /// - Parameter values: the values of the header field `If-None-Match`.
    public func isHeld(by values: [String]) -> Bool {
        values.flatMap { parts(of: $0[...], between: .comma) }.contains { element in
            let element = trimmed(element)
            return element == "*" || element == text || element == "W/" + text
        }
    }
}
