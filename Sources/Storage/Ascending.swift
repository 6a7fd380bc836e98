/// Arrays whose elements ascend.
extension Array where Element: Comparable {
    /// Nearly always at the end.
    mutating func insertAscending(_ element: Element) {
        guard let last, !(last < element) else {
            append(element)
            return
        }
        let index = bisected { !($0 < element) }
        insert(element, at: index)
    }
}

extension RandomAccessCollection where Index == Int {
    /// The first index whose element fits, where all behind it fit too; the end where none does.
    func bisected(_ fits: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if fits(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
