/// Insertion into and search in ascending arrays.
extension Array where Element: Comparable {
    /// Inserts an element in its place, which is nearly always the end, unless it is there.
    mutating func insertAscending(_ element: Element) {
        guard let last, !(last < element) else {
            append(element)
            return
        }
        let index = bisected { !($0 < element) }
        if element < self[index] { insert(element, at: index) }
    }
}

extension RandomAccessCollection where Index == Int {
    /// Returns the first index whose element satisfies `fits`, or the end index; `fits` has to hold
    /// for every element behind one for which it holds.
    func bisected(_ fits: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if fits(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
