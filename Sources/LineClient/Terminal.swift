import CNcurses
import ChatClient
import Glibc

/// The terminal of standard input and output, driven by ncurses: in raw mode while the client runs,
/// and restored afterwards.
///
/// ncurses sends only the differences from what is shown: over a slow line, a key costs a few
/// bytes.
final class Terminal {
    private static let warningPair: Int16 = 1
    private static let mentionPair: Int16 = 2
    private static let marksPastes = "\u{1B}[?2004"

    private var window: UnsafeMutablePointer<WINDOW>?

    /// The error of a terminal type that ncurses has no description of.
    struct Unknown: Error {
        let type: String
    }

    /// Nil if standard input or output is no terminal.
    init?() {
        guard isatty(0) == 1, isatty(1) == 1 else { return nil }
    }

    /// The measure of character widths, which is the same for every terminal.
    static var columns: Columns {
        cncurses_set_locale()
        return Columns { Int(cncurses_columns($0.value)) }
    }

    func begin() throws(Unknown) {
        guard let window = cncurses_begin() else {
            throw Unknown(type: getenv("TERM").map { String(cString: $0) } ?? "")
        }
        self.window = window
        cncurses_define_keys()
        init_pair(Terminal.warningPair, Int16(COLOR_YELLOW), -1)
        init_pair(Terminal.mentionPair, Int16(COLOR_MAGENTA), -1)
        put(Terminal.marksPastes + "h")
    }

    func restore() {
        guard window != nil else { return }
        put(Terminal.marksPastes + "l")
        endwin()
        window = nil
    }

    var size: Size {
        var window = winsize()
        guard ioctl(1, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
            return Size(columns: 80, rows: 24)
        }
        return Size(columns: Int(window.ws_col), rows: Int(window.ws_row))
    }

    /// Adapts ncurses to a new size of the window.
    func resize() {
        let size = size
        resizeterm(Int32(size.rows), Int32(size.columns))
    }

    // MARK: - Output

    func draw(_ screen: Screen) {
        werase(window)
        for (row, line) in screen.lines.enumerated() {
            wmove(window, Int32(row), 0)
            for span in line.spans {
                setStyle(span.style)
                waddnstr(window, span.text, -1)
            }
        }
        setStyle(.plain)
        wmove(window, Int32(screen.cursorRow), Int32(screen.cursorColumn))
        wrefresh(window)
    }

    /// Has everything drawn again, since the shown contents cannot be relied on.
    func redraw() { clearok(window, true) }

    func ring() { beep() }

    private func setStyle(_ style: Screen.Style) {
        let (attributes, pair): (Int, Int16) =
            switch style {
            case .plain: (cncurses_plain, 0)
            case .bold: (cncurses_bold, 0)
            case .dim: (cncurses_dim, 0)
            case .bar, .match: (cncurses_reverse, 0)
            case .warning: (cncurses_plain, Terminal.warningPair)
            case .mention: (cncurses_bold, Terminal.mentionPair)
            }
        cncurses_set_style(window, UInt32(attributes), pair)
    }

    /// Writes around ncurses, which has no function for this sequence.
    private func put(_ text: String) { writeAll(Array(text.utf8), to: 1) }

    // MARK: - Input

    /// Returns the keys that have arrived.
    func read() -> [KeyInput] {
        var inputs: [KeyInput] = []
        while true {
            let key = cncurses_key(window)
            guard key >= 0 else { return inputs }
            if let input = Terminal.input(Int(key)) { inputs.append(input) }
        }
    }

    private static func input(_ key: Int) -> KeyInput? {
        let named = key - cncurses_named
        guard named >= 0 else { return Unicode.Scalar(UInt32(key)).map { .scalar($0) } }
        switch named {
        case cncurses_paste_begins: return .pasteBegins
        case cncurses_paste_ends: return .pasteEnds
        default: return keystrokes[named].map { .named($0) }
        }
    }

    private static let keystrokes: [Int: Keystroke] = [
        cncurses_up: .up, cncurses_down: .down,
        cncurses_left: .left, cncurses_right: .right,
        cncurses_home: .home, cncurses_end: .end,
        cncurses_page_up: .pageUp, cncurses_page_down: .pageDown,
        cncurses_delete: .delete, cncurses_backspace: .backspace,
        cncurses_enter: .enter,
        cncurses_alt_up: .altUp, cncurses_alt_down: .altDown,
        cncurses_word_left: .controlLeft,
        cncurses_word_right: .controlRight,
    ]
}
