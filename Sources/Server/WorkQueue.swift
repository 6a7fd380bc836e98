/// The work that waits for its thread, of each source in turn.
///
/// Where there is too much, the source with the most loses its last, so that a few sources do not
/// take all places.
struct WorkQueue<Work: Sendable>: Sendable {
    /// The most pieces of work that wait.
    let countMax: Int

    private struct Line {
        let source: String
        var work: [Work]
    }

    /// In the order of their turns; none is empty.
    private var lines: [Line] = []
    private(set) var count = 0

    init(countMax: Int) { self.countMax = countMax }

    var isEmpty: Bool { lines.isEmpty }

    /// - Returns: the work that is refused for it, which may be itself; nil for none.
    mutating func add(_ work: Work, from source: String) -> Work? {
        var refused: Work?
        if count >= countMax {
            let mine = lines.first { $0.source == source }?.work.count ?? 0
            guard
                let greedy = lines.indices.max(by: { lines[$0].work.count < lines[$1].work.count }),
                lines[greedy].work.count > mine + 1
            else { return work }
            refused = lines[greedy].work.removeLast()
            count -= 1
        }
        if let index = lines.firstIndex(where: { $0.source == source }) {
            lines[index].work.append(work)
        } else {
            lines.append(Line(source: source, work: [work]))
        }
        count += 1
        return refused
    }

    mutating func removeAll() -> [Work] {
        defer { (lines, count) = ([], 0) }
        return lines.flatMap(\.work)
    }

    mutating func next() -> Work? {
        guard !lines.isEmpty else { return nil }
        var line = lines.removeFirst()
        let work = line.work.removeFirst()
        if !line.work.isEmpty { lines.append(line) }
        count -= 1
        return work
    }
}
