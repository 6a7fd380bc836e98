import LineProtocol

/// What happens to a chat client.
public enum Happening: Sendable {
    /// Both connections to the node that was dialled stand, and are signed in.
    case connected
    /// There is no connection; why, as a sentence.
    case lost(String)
    /// The reply to the request with this number: its data lines, then its status line.
    case answered(Int, [ReplyLine])
    /// What the watching connection said: the reply to `WATCH`.
    case watchAnswered(ReplyLine)
    /// An `EVENT` line.
    case event(ReplyFields)
    case key(Keystroke)
    /// A whole line of an input that is no terminal.
    case line(String)
    case inputEnded
    /// The process was told to end, and ends with this status.
    case terminated(Int32)
    case resized(Size)
    /// Some time has passed.
    case tick
}

/// What a chat client wants done.
public enum Directive: Hashable, Sendable {
    /// Give up the connections that there are, and connect to this admin address.
    case dial(String)
    /// Send a line on the connection for requests.
    case ask(Int, String)
    /// Send a line on the connection for events.
    case watch(String)
    /// Write a line; where there is a screen, after the end.
    case print(String)
    /// Show this.
    case draw(Screen)
    /// Forget what the terminal shows, and show all of it again.
    case redraw
    case bell
    /// End, with this exit status.
    case leave(Int32)
}

/// A key of the keyboard, or several that come as one.
public enum Keystroke: Hashable, Sendable {
    case character(Character)
    /// Text that came at once, its line ends included.
    case paste(String)
    case enter, backspace, delete, tab, escape
    case left, right, up, down, home, end, pageUp, pageDown
    /// A letter with Control held.
    case control(Character)
    /// A letter with Alt held.
    case alt(Character)
    case altBackspace, altUp, altDown, controlLeft, controlRight
}

/// A key as the terminal library hands it over.
public enum KeyInput: Hashable, Sendable {
    /// A character, or one of those that begin with U+0000 for keys with Control held.
    case scalar(Unicode.Scalar)
    /// A key that the library has a name for.
    case named(Keystroke)
    case pasteBegins
    case pasteEnds
}

/// How many columns and rows a terminal has.
public struct Size: Hashable, Sendable {
    public let columns: Int
    public let rows: Int

    /// The least that anything is drawn for; in less, what does not fit is cut off.
    static let least = Size(columns: 20, rows: 5)

    public init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }
}
