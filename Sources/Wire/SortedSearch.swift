extension RandomAccessCollection where Index == Int {
    /// Returns the index of the first element of a collection's second part, found by binary
    /// search; the end index where there is no such element.
    ///
    /// - Parameter belongsInSecondPart: false for the elements of the first part, true for all that
    ///   follow them.
    @inlinable
    public func partitioningIndex(where belongsInSecondPart: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if belongsInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
