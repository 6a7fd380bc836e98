/// The contents of a terminal: its lines from the top, and the position of the cursor.
public struct Screen: Hashable, Sendable {
    public enum Style: Hashable, Sendable {
        case plain, bold, dim, bar, warning
        /// Text with the user's name.
        case mention
        /// Text that matches the search.
        case match
    }

    public struct Span: Hashable, Sendable {
        public let text: String
        public let style: Style

        init(_ text: String, _ style: Style = .plain) {
            // Whatever the sender wrote, shown text never moves the cursor.
            self.text = Columns.harmless(text).replacing("\n", by: " ")
            self.style = style
        }
    }

    public struct Line: Hashable, Sendable {
        public internal(set) var spans: [Span]

        init(_ spans: Span...) { self.spans = spans }

        init(_ text: String, _ style: Style = .plain) { spans = [Span(text, style)] }

        public var text: String { spans.map(\.text).joined() }
    }

    public internal(set) var lines: [Line]
    public internal(set) var cursorColumn: Int
    public internal(set) var cursorRow: Int
}
