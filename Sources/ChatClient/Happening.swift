import LineProtocol

/// An input of a chat client.
public enum Happening: Sendable {
    /// Both connections to the dialled node are established and signed in.
    case connected
    /// There is no connection; the text is the reason, as a sentence.
    case lost(String)
    /// The reply to the request with this number: its data lines, then its status line.
    case answered(Int, [ReplyLine])
    /// The reply to `WATCH` on the connection for events.
    case watchAnswered(ReplyLine)
    /// An `EVENT` line.
    case event(ReplyFields)
    case key(Keystroke)
    /// A complete line of an input that is no terminal.
    case line(String)
    case inputEnded
    /// A signal requests the end of the process, with this exit status.
    case terminated(Int32)
    case resized(Size)
    /// Some time has passed; sent at regular intervals.
    case tick
}

/// An action that a chat client requests.
public enum Directive: Hashable, Sendable {
    /// Closes the current connections, and connects to this admin address.
    case dial(String)
    /// Sends a line on the connection for requests.
    case ask(Int, String)
    /// Sends a line on the connection for events.
    case watch(String)
    /// Prints a line; with a screen, after the client has ended.
    case print(String)
    /// Draws this screen.
    case draw(Screen)
    /// Draws the whole screen again, whatever the terminal shows.
    case redraw
    case bell
    /// Ends the process with this exit status.
    case leave(Int32)
}

/// A key of the keyboard, or several keys that arrive as one.
public enum Keystroke: Hashable, Sendable {
    case character(Character)
    /// Text that arrived at once, with its line ends.
    case paste(String)
    case enter, backspace, delete, tab, escape
    case left, right, up, down, home, end, pageUp, pageDown
    /// A letter with Control held.
    case control(Character)
    /// A letter with Alt held.
    case alt(Character)
    case altBackspace, altUp, altDown, controlLeft, controlRight
}

/// A key as the terminal library delivers it.
public enum KeyInput: Hashable, Sendable {
    /// A character, including the control characters from U+0000 for keys with Control held.
    case scalar(Unicode.Scalar)
    /// A key that the library has a name for.
    case named(Keystroke)
    case pasteBegins
    case pasteEnds
}

/// The number of columns and rows of a terminal.
public struct Size: Hashable, Sendable {
    public let columns: Int
    public let rows: Int

    /// The least size that is drawn; in a smaller terminal, the rest is cut off.
    static let least = Size(columns: 20, rows: 5)

    public init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }
}
