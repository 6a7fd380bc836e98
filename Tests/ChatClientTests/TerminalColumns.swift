import CNcurses

@testable import ChatClient

extension Columns {
    /// Columns measured as ncurses measures what it draws.
    static let terminal: Columns = {
        cncurses_set_locale()
        return Columns { Int(cncurses_columns($0.value)) }
    }()
}
