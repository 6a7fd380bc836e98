/// A row of the open chat's text, with its place in the conversation.
///
/// Rows are always in the order of their anchors, so that an anchor finds its row again after
/// changes.
struct ChatRow {
    struct Anchor: Hashable, Comparable {
        let position: Position
        /// The index of the row within the message; negative for a line before it.
        let row: Int

        static func < (left: Anchor, right: Anchor) -> Bool {
            left.position == right.position
                ? left.row < right.row : left.position < right.position
        }
    }

    let anchor: Anchor
    let line: Screen.Line
    /// The message that begins in this row; nil for other rows.
    var message: Message?
}

/// The part of the open chat that is on the screen.
///
/// The viewport follows the newest message until the person scrolls back; then the row at the top
/// keeps its place, whatever arrives above or below it.
struct Viewport {
    /// The row at the top; nil while the newest message is followed.
    private var top: ChatRow.Anchor?
    /// The newest message that has been shown.
    private var seen: Position?

    var isFollowing: Bool { top == nil }

    /// Returns the index of the first visible row, if `height` rows fit.
    func firstRow(of rows: [ChatRow], height: Int) -> Int {
        let last = max(0, rows.count - height)
        guard let top else { return last }
        return min(last, rows.firstIndex { $0.anchor >= top } ?? last)
    }

    /// Scrolls, towards older rows if `count` is negative; never beyond either end.
    ///
    /// - Returns: whether the first of all rows is then at the top.
    mutating func scroll(by count: Int, in rows: [ChatRow], height: Int) -> Bool {
        let first = firstRow(of: rows, height: height)
        show(min(first + count, rows.count), in: rows, height: height)
        return first + count <= 0
    }

    /// Moves a row to the top, as far as enough rows follow it.
    mutating func show(_ index: Int, in rows: [ChatRow], height: Int) {
        let last = max(0, rows.count - height)
        let index = max(0, index)
        top = index >= last ? nil : rows[index].anchor
    }

    /// Begins at the first unread message.
    mutating func begin(at position: Position) {
        top = ChatRow.Anchor(position: position, row: ChatRow.unreadRow)
    }

    mutating func follow() { top = nil }

    /// Updates the state after each change; a person who has reached the end follows again.
    mutating func settle(in rows: [ChatRow], height: Int) {
        if top != nil, firstRow(of: rows, height: height) >= rows.count - height { top = nil }
        guard let shown = newestShown(of: rows, height: height)?.position else { return }
        seen = max(seen ?? shown, shown)
    }

    /// Returns the newest message of which any row is visible.
    func newestShown(of rows: [ChatRow], height: Int) -> Message? {
        let first = firstRow(of: rows, height: height)
        let end = min(rows.count, first + height)
        return rows[..<end].last { $0.message != nil }?.message
    }

    /// Returns the number of messages to which the person has not scrolled down yet.
    func unseen(in rows: [ChatRow]) -> Int {
        guard top != nil, let seen else { return 0 }
        return rows.count { $0.message != nil && $0.anchor.position > seen }
    }
}

extension ChatRow {
    /// The rows before a message: the day, and the line above new messages.
    static let dayRow = -2
    static let unreadRow = -1
}
