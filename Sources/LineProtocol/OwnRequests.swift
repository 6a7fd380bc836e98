import Chat
import Wire

/// Requests that concern data of one user and of no conversation.
extension Request {
    /// The fields of a profile to set; all of them nil where the profile is only to be shown.
    public struct Profile: Hashable, Sendable {
        public var user: UserID
        /// Empty to clear the field; the same holds for the others.
        public var name: String?
        public var email: String?
        public var photo: String?

        public init(user: UserID, name: String?, email: String?, photo: String?) {
            self.user = user
            self.name = name
            self.email = email
            self.photo = photo
        }

        /// Whether the profile is only to be shown.
        public var isShown: Bool { name == nil && email == nil && photo == nil }
    }

    public struct ActionAdd: Hashable, Sendable {
        public var user: UserID
        /// Nil where the node that reads the line is to create an id.
        public var item: ItemID?
        /// Its title is not blank.
        public var newItem: Item.NewItem

        public init(user: UserID, item: ItemID?, newItem: Item.NewItem) {
            self.user = user
            self.item = item
            self.newItem = newItem
        }
    }

    public struct ActionEdit: Hashable, Sendable {
        public var user: UserID
        public var item: ItemID
        public var edit: Item.Edit

        public init(user: UserID, item: ItemID, edit: Item.Edit) {
            self.user = user
            self.item = item
            self.edit = edit
        }
    }

    /// The arguments of a verb that takes only a user and an item.
    public struct OfItem: Hashable, Sendable {
        public var user: UserID
        public var item: ItemID

        public init(user: UserID, item: ItemID) {
            self.user = user
            self.item = item
        }
    }
}

extension Request.Profile {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        name = try words.field(.name)
        email = try words.field(.email)
        photo = try words.field(.photo)
    }
}

extension Request.ActionAdd {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        item = try words.name(.id)
        let title = try words.text()
        if isWhite(title) { throw .titleEmpty }
        guard title.utf8.count <= LineLimits.fieldBytesMax else { throw .titleTooLong }
        newItem = Item.NewItem(
            title: title, due: try words.time(.due)?.value,
            priority: try words.clearable(.priority, of: ItemPriority.self)?.value,
            chat: try words.name(.chat), message: try words.name(.message))
    }
}

extension Request.ActionEdit {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        item = try words.name(1)
        let title = try words.field(.title)
        if let title, isWhite(title) { throw .titleEmpty }
        edit = Item.Edit(
            title: title.map { FieldText($0) }, due: try words.time(.due),
            priority: try words.clearable(.priority, of: ItemPriority.self))
    }
}

extension Request.OfItem {
    init(_ words: borrowing ParsedLine) throws(LineError) {
        user = try words.name(0)
        item = try words.name(1)
    }
}

extension LineError {
    public static let titleEmpty = LineError(400, "Title cannot be empty")

    static let titleTooLong = LineError(
        413, "Title too long: at most \(LineLimits.fieldBytesMax) bytes")
}

extension ParsedLine {
    /// Returns a time, or an empty value where the field is to be cleared; nil where it is not
    /// given.
    func time(_ option: Option) throws(LineError) -> Clearable<DueTime>? {
        guard let value = try value(option) else { return nil }
        guard !value.isEmpty else { return Clearable(nil) }
        guard let time = LineTime.parse(value) else {
            throw refusedOption("\(option.name)= is a time such as 2026-11-21T06:00:00Z")
        }
        return Clearable(DueTime(milliseconds: time))
    }

    /// Returns a choice, or an empty value where the field is to be cleared; nil where it is not
    /// given.
    func clearable<Choice: CaseIterable & RawRepresentable<String>>(
        _ option: Option, of _: Choice.Type
    ) throws(LineError) -> Clearable<Choice>? {
        guard let value = try value(option) else { return nil }
        guard !value.isEmpty else { return Clearable(nil) }
        guard let choice = Choice(rawValue: value) else {
            throw refusedOption("\(option.name)= is one of \(choices(of: Choice.self))")
        }
        return Clearable(choice)
    }
}
