extension Array {
    /// Splits the array into runs of about that many bytes, in order; an empty array is one run.
    ///
    /// An element that is larger is a run of its own.
    package func runs(of bytesMax: Int, sizedBy size: (Element) -> Int) -> [[Element]] {
        var runs: [[Element]] = [[]]
        var total = 0
        for element in self {
            let bytes = size(element)
            if total > 0, total + bytes > bytesMax {
                runs.append([])
                total = 0
            }
            runs[runs.count - 1].append(element)
            total += bytes
        }
        return runs
    }
}
