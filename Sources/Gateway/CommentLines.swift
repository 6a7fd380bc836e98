/// Returns a module or style sheet without its comments, as far as they are whole lines; those stay
/// as empty lines, so that errors name the lines of the source.
///
/// Half of a module may be comments, which no browser needs. A text of several lines in which one
/// begins like a comment would be changed: `WebPagesTests` looks for such.
///
/// - Returns: the text itself where a comment ends in the middle of a line.
func withoutCommentLines(_ text: [UInt8]) -> [UInt8] {
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
            if !words.starts(with: "//".utf8) { kept += line }
            continue
        }
        let end = words.firstRange(of: Array("*/".utf8))
        guard end == nil || end?.upperBound == words.endIndex else { return text }
        isInside = end == nil
    }
    return kept
}
