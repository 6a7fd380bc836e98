import Chat
import LineProtocol

/// What a query found, cut to the part of the list that was asked for.
package struct Listing: Sendable {
    package let findings: AnyFindings
    /// The cursor of the next part; nil where this is the last one.
    package let next: String?
    /// The sum of all counts, whichever part they are in; nil for findings that are no counts.
    package let total: Int?
    /// Whether the parts of some shards are missing.
    package let isPartial: Bool
    private let namesMax: Int?

    init(_ whole: AnyFindings, _ page: ListPage, isPartial: Bool) {
        (findings, next) = whole.base.page(page)
        total = whole.base.total
        self.isPartial = isPartial
        namesMax = page.namesMax
    }

    /// Writes the rows of the list, and the fields of its status.
    func write(to writer: inout some RowWriter) {
        if let messages: [MessageView] = findings.value() {
            // Most of what is read: the compiler specializes this code for them.
            writer.rows(messages, as: .message)
        } else {
            findings.base.writeRows(to: &writer, naming: namesMax)
        }
        if !type(of: findings.base).hasStatus { writer.row(self, as: .listing) }
    }

    /// About as many bytes as its rows have; 0 for few.
    ///
    /// A buffer that grows while it is written takes three times as much at the end.
    var roughBytes: Int { findings.base.rowBytes }
}

extension View where Subject == Listing {
    /// The status of a list.
    static let listing = View(
        "OK",
        [
            .count("total") { $0.total }, .flag("partial") { $0.isPartial },
            .text("next") { $0.next },
        ])
}
