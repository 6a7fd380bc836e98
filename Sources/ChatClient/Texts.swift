extension StringProtocol {
    /// Returns the text with each occurrence of a character replaced.
    func replacing(_ character: Character, by replacement: String) -> String {
        split(separator: character, omittingEmptySubsequences: false)
            .joined(separator: replacement)
    }

    /// Whether another text is a part of this one.
    ///
    /// The time is linear in the product of both lengths: for what a user types alone.
    func hasPart(_ other: String) -> Bool {
        var rest = self[...]
        while true {
            if rest.starts(with: other) { return true }
            guard rest.popFirst() != nil else { return false }
        }
    }
}
