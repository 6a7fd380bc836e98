/// A row of the open chat's text, and what it belongs to.
///
/// Rows are in the order of their anchors, whatever arrives, so that an anchor finds its row again.
struct ChatRow {
    struct Anchor: Hashable, Comparable {
        let position: Position
        /// Which row of the message; below zero for a line before it.
        let row: Int

        static func < (left: Anchor, right: Anchor) -> Bool {
            left.position == right.position
                ? left.row < right.row : left.position < right.position
        }
    }

    let anchor: Anchor
    let line: Screen.Line
    /// Whether a message begins here.
    var message: Message?
}

/// The part of the open chat that is on the screen.
///
/// It follows the newest message until the person scrolls back; from then on the row at the top
/// stays where it is, whatever arrives above or below it.
struct Viewport {
    /// The row at the top; nil while the newest is followed.
    private var top: ChatRow.Anchor?
    /// The newest message that has been shown.
    private var seen: Position?

    var isFollowing: Bool { top == nil }

    /// The first row that is shown, where `height` rows fit.
    func firstRow(of rows: [ChatRow], height: Int) -> Int {
        let last = max(0, rows.count - height)
        guard let top else { return last }
        return min(last, rows.firstIndex { $0.anchor >= top } ?? last)
    }

    /// Scrolls towards older rows where `count` is negative; never beyond either end.
    ///
    /// - Returns: whether the first row is at the top then.
    mutating func scroll(by count: Int, in rows: [ChatRow], height: Int) -> Bool {
        let first = firstRow(of: rows, height: height)
        show(min(first + count, rows.count), in: rows, height: height)
        return first + count <= 0
    }

    /// Has a row at the top, as far as there are rows below it.
    mutating func show(_ index: Int, in rows: [ChatRow], height: Int) {
        let last = max(0, rows.count - height)
        let index = max(0, index)
        top = index >= last ? nil : rows[index].anchor
    }

    /// Begins at what was unread.
    mutating func begin(at position: Position) {
        top = ChatRow.Anchor(position: position, row: ChatRow.unreadRow)
    }

    mutating func follow() { top = nil }

    /// After each change: who has come to the end follows again.
    mutating func settle(in rows: [ChatRow], height: Int) {
        if top != nil, firstRow(of: rows, height: height) >= rows.count - height { top = nil }
        guard let shown = newestShown(of: rows, height: height)?.position else { return }
        seen = max(seen ?? shown, shown)
    }

    /// The newest message of which something is shown.
    func newestShown(of rows: [ChatRow], height: Int) -> Message? {
        let first = firstRow(of: rows, height: height)
        let end = min(rows.count, first + height)
        return rows[..<end].last { $0.message != nil }?.message
    }

    /// How many messages there are that the person has not scrolled down to.
    func unseen(in rows: [ChatRow]) -> Int {
        guard top != nil, let seen else { return 0 }
        return rows.count { $0.message != nil && $0.anchor.position > seen }
    }
}

extension ChatRow {
    /// The rows before a message: the day, and the line above what is new.
    static let dayRow = -2
    static let unreadRow = -1
}
