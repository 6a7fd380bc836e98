import CRDT
import Wire

/// The part of a list that a request specifies.
public struct ListPage: Hashable, Sendable {
    /// The most elements of the page, 1…`limitMax`; nil for all elements of the list.
    public let limit: Int?
    /// The position after which the page begins; nil for the beginning of the list.
    public let after: ListPosition?
    /// The most participants whose names are shown for each conversation; nil for all participants.
    public let namesMax: Int?
    /// The limit in bytes of a page of a message history; nil for a page without such a limit.
    public let historyCut: HistoryCut?

    /// Whether the response shows exact times.
    public private(set) var isExact = false

    public static let limitMax = 1_000
    /// The size in bytes at which a page ends before it has `limit` elements (1 MiB); a page has at
    /// least one element.
    public static let bytesMax = 1 << 20
    /// The page that contains the whole list.
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

    /// The same page in a response that shows exact times.
    public var exact: ListPage {
        var page = self
        page.isExact = true
        return page
    }

    /// Whether the page may leave out elements of the list.
    var isPart: Bool { limit != nil || after != nil || historyCut != nil }
}

/// The limit of a page of a message history in bytes, beside the limit in messages.
public struct HistoryCut: Hashable, Sendable {
    /// Whether the page continues from a message towards the newest, and not towards the oldest.
    public let isForward: Bool
    /// The most bytes of the page, which has at least one message.
    public let bytesMax: Int

    public init(isForward: Bool, bytesMax: Int) {
        self.isForward = isForward
        self.bytesMax = bytesMax
    }
}

/// The position of an element in its list.
///
/// An element's position stays the same while other elements are added or removed. So a page that
/// begins after a position leaves out no element that was in the list all the time.
public struct ListPosition: Hashable, Sendable {
    /// A number that increases along the list.
    let order: UInt64
    /// The id of the element, which orders elements with the same `order`.
    let id: String
}

extension ListPosition: Comparable {
    public static func < (left: ListPosition, right: ListPosition) -> Bool {
        (left.order, left.id) < (right.order, right.id)
    }
}

extension ListPosition {
    /// The regular expression that a cursor matches.
    public static let cursorPattern = "^[0-9a-f]{16}-[A-Za-z0-9_.:@-]{0,\(nameBytesMax)}$"

    /// The cursor that clients send back: 16 hexadecimal digits of the order, `-`, and the id.
    public var cursor: String { hexadecimal(order) + "-" + id }

    /// - Returns: nil for a text that is not a cursor.
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

    /// Returns the elements after the page's start position, up to the limits of the page.
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
