import ChatClient
import Glibc

/// The terminal of standard input and output: raw while the client runs, as before afterwards.
///
/// What is drawn is compared with what is there, line by line: over a slow line a key costs one.
final class Terminal {
    private var saved = termios()
    private var drawn: Screen?

    /// Nil where either side is no terminal.
    init?() {
        guard isatty(0) == 1, isatty(1) == 1, tcgetattr(0, &saved) == 0 else { return nil }
    }

    func begin() {
        var raw = saved
        cfmakeraw(&raw)
        tcsetattr(0, TCSAFLUSH, &raw)
        // Its own screen, so that what was there comes back; pastes are marked as such.
        put("\u{1B}[?1049h\u{1B}[?2004h\u{1B}[2J")
    }

    func end() {
        put("\u{1B}[?2004l\u{1B}[?1049l\u{1B}[?25h")
        tcsetattr(0, TCSAFLUSH, &saved)
    }

    static var size: Size {
        var window = winsize()
        guard ioctl(1, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return Size(columns: 80, rows: 24)
        }
        return Size(columns: Int(window.ws_col), rows: Int(window.ws_row))
    }

    /// - Parameter isWhole: whether nothing that is there can be relied on.
    func draw(_ screen: Screen, isWhole: Bool = false) {
        var text = "\u{1B}[?25l"
        let old = isWhole ? nil : drawn
        if old?.lines.count != screen.lines.count { text += "\u{1B}[0m\u{1B}[2J" }
        for (row, line) in screen.lines.enumerated() {
            if let old, old.lines.count == screen.lines.count, old.lines[row] == line { continue }
            text += "\u{1B}[\(row + 1);1H\u{1B}[0m"
            for span in line.spans { text += Self.code(span.style) + span.text + "\u{1B}[0m" }
            text += "\u{1B}[K"
        }
        text += "\u{1B}[\(screen.cursorRow + 1);\(screen.cursorColumn + 1)H\u{1B}[?25h"
        drawn = screen
        put(text)
    }

    private static func code(_ style: Screen.Style) -> String {
        switch style {
        case .plain: ""
        case .bold: "\u{1B}[1m"
        case .dim: "\u{1B}[2m"
        case .bar: "\u{1B}[7m"
        case .warning: "\u{1B}[33m"
        }
    }

    private func put(_ text: String) { writeAll(Array(text.utf8), to: 1) }
}
