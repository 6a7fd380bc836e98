/// Returns a module or style sheet without its comments, as far as they are whole lines, and
/// without the spaces at the beginning of lines; all lines stay, so that errors name those of the
/// source.
///
/// Half of a module may be comments, which no browser needs. A text of several lines would be
/// changed if one begins like a comment or with a space: `WebPagesTests` looks for such.
///
/// - Returns: the text itself where a comment ends in the middle of a line.
func withoutCommentsAndIndents(_ text: [UInt8]) -> [UInt8] {
    let (lineFeed, space) = (UInt8(ascii: "\n"), UInt8(ascii: " "))
    var kept: [UInt8] = []
    kept.reserveCapacity(text.count)
    var isInside = false
    for (number, line) in text.split(separator: lineFeed, omittingEmptySubsequences: false)
        .enumerated()
    {
        if number > 0 { kept.append(lineFeed) }
        let words = line.drop { $0 == space }
        let begins = !isInside && words.starts(with: "/*".utf8)
        guard isInside || begins else {
            if !words.starts(with: "//".utf8) { kept += words }
            continue
        }
        let end = words.firstRange(of: Array("*/".utf8))
        guard end == nil || end?.upperBound == words.endIndex else { return text }
        isInside = end == nil
    }
    return kept
}
