import Chat
import LineProtocol

/// The findings of a query, reduced to the page of the list that was requested.
package struct Listing: Sendable {
    package let findings: AnyFindings
    /// The cursor of the next page; nil for the last page.
    package let next: String?
    /// The sum of the counts on all pages; nil for findings that are no counts.
    package let total: Int?
    /// Whether the parts of the list from some shards are missing.
    package let isPartial: Bool
    private let namesMax: Int?
    private let isExact: Bool

    init(_ whole: AnyFindings, _ page: ListPage, isPartial: Bool) {
        (findings, next) = whole.base.page(page)
        total = whole.base.total
        self.isPartial = isPartial
        namesMax = page.namesMax
        isExact = page.isExact
    }

    /// Writes the rows of the list, and its status unless the rows already contain a status.
    func write(to writer: inout some RowWriter) {
        writer.isExact = isExact
        if let messages: [MessageView] = findings.value() {
            // Most lists that clients read are lists of messages: the compiler specializes this
            // code for messages.
            writer.rows(messages, as: .message)
        } else {
            findings.base.writeRows(to: &writer, naming: namesMax)
        }
        if !type(of: findings.base).hasStatus { writer.row(self, as: .listing) }
    }

    /// The approximate size of the rows in bytes; 0 for a small list.
    ///
    /// Reserving this size saves memory: a buffer that grows while it is written needs three times
    /// as much at the end.
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
