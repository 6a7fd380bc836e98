import CRDT
import Wire

/// The part of a list that is asked for.
public struct ListPage: Hashable, Sendable {
    /// The most elements, 1…`limitMax`; nil for all.
    public let limit: Int?
    /// The position behind which the page begins; nil for the list's beginning.
    public let after: ListPosition?
    /// The most participants that are named of each conversation; nil for all.
    public let namesMax: Int?
    /// Where messages of a history are left out that are too many bytes; nil for nowhere.
    public let historyCut: HistoryCut?

    public static let limitMax = 1_000
    /// Where a page ends before it has as many elements as were asked for, in bytes (1 MiB); it has
    /// one element at least.
    public static let bytesMax = 1 << 20
    /// The whole list.
    public static let whole = ListPage()

    public init(
        limit: Int? = nil, after: ListPosition? = nil, namesMax: Int? = nil,
        historyCut: HistoryCut? = nil
    ) {
        self.limit = limit
        self.after = after
        self.namesMax = namesMax
        self.historyCut = historyCut
    }

    /// Whether the list is cut.
    var isPart: Bool { limit != nil || after != nil || historyCut != nil }
}

/// The limit of a page of a history in bytes, beside the one in messages.
public struct HistoryCut: Hashable, Sendable {
    /// Whether the page goes on from a message towards the newest, and not towards the oldest.
    public let isForward: Bool
    /// The most bytes of the page, which has one message at least.
    public let bytesMax: Int

    public init(isForward: Bool, bytesMax: Int) {
        self.isForward = isForward
        self.bytesMax = bytesMax
    }
}

/// The position of an element in its list.
///
/// It does not change while the element stays where it is, whatever else the list loses or gets; so
/// a page that begins behind it leaves nothing out that was there all the time.
public struct ListPosition: Hashable, Sendable {
    /// Ascends along the list.
    let order: UInt64
    /// Ascends among elements of the same order.
    let id: String
}

extension ListPosition: Comparable {
    public static func < (left: ListPosition, right: ListPosition) -> Bool {
        (left.order, left.id) < (right.order, right.id)
    }
}

extension ListPosition {
    /// The form of a cursor, as a regular expression.
    public static let cursorPattern = "^[0-9a-f]{16}-[A-Za-z0-9_.:@-]{0,\(nameBytesMax)}$"

    /// The position as clients hand it back: 16 hexadecimal digits of the order, `-`, and the id.
    public var cursor: String { hexadecimal(order) + "-" + id }

    /// - Returns: nil for a text that is no cursor.
    public init?(cursor: String) {
        let digits = cursor.utf8.prefix { $0 != UInt8(ascii: "-") }
        guard digits.count == 16, digits.allSatisfy("0123456789abcdef".utf8.contains),
            let order = UInt64(cursor.prefix(16), radix: 16),
            cursor.utf8.count > 16
        else { return nil }
        let id = String(cursor.dropFirst(17))
        guard id.isEmpty || isName(id.utf8) else { return nil }
        self.init(order: order, id: id)
    }
}

/// An element of a list that is shown in pages.
public protocol ListElement: Finding {
    /// The position of the element in its list.
    var position: ListPosition { get }
}

extension ListElement {
    public static func page(_ list: [Self], _ page: ListPage) -> (list: [Self], next: String?) {
        listPage(list, page)
    }

    /// Returns the elements behind the page's beginning, up to its limits.
    static func listPage(_ list: [Self], _ page: ListPage) -> (list: [Self], next: String?) {
        var left = list.map { (position: $0.position, element: $0) }
        if let after = page.after { left.removeAll { $0.position <= after } }
        left.sort { $0.position < $1.position }
        var bytes = 0
        let most = left.prefix(page.limit ?? .max)
        let taken = most.prefix { _, element in
            defer { bytes += element.encoded.count }
            return bytes < ListPage.bytesMax
        }
        let next = taken.count < left.count ? taken.last?.position.cursor : nil
        return (taken.map(\.element), next)
    }
}
