import CRDT
import Wire

extension View where Subject == ProfileView {
    public static let profile = View(
        "PROFILE",
        [
            .name("user") { $0.user.text },
            .text("name") { $0.name },
            .text("email") { $0.email },
            .text("photo") { $0.photo },
            .time("createdAt") { $0.createdAt },
            .change("nameChanged") { $0.lastChanges?[0] },
            .change("emailChanged") { $0.lastChanges?[1] },
            .change("photoChanged") { $0.lastChanges?[2] },
        ])
}

extension ProfileView: Findings {
    /// The code 52 identifies a profile with the times of its last changes.
    public static let codes: [UInt8] = [5, 52]
    public var code: UInt8 { lastChanges == nil ? 5 : 52 }

    public func encodeContent(into writer: inout ByteWriter) {
        encode(into: &writer)
        lastChanges?.encode(into: &writer)
    }

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> ProfileView {
        var view = try ProfileView(from: &reader)
        if code == 52 { view.lastChanges = try LastChanges(from: &reader) }
        return view
    }

    public static let views = [ViewDescription(View<ProfileView>.profile)]

    public func writeRows(to writer: inout some RowWriter, naming namesMax: Int?) {
        writer.row(self, as: .profile)
    }
}

extension DatedProfile: Finding {
    public static let codes: [UInt8] = [25, 53]
    public static let exactCodes: [UInt8] = [53]

    public var lastChanges: LastChanges? {
        get { view.lastChanges }
        set { view.lastChanges = newValue }
    }

    public static let views = ProfileView.views

    public static func writeRows(
        of list: [DatedProfile], to writer: inout some RowWriter, naming namesMax: Int?
    ) {
        writer.rows(list.map(\.view).sorted { $0.user < $1.user }, as: .profile)
    }

    public static func rowBytes(of list: [DatedProfile]) -> Int { list.count * 256 }
}

extension NameView: Finding {
    public static let codes: [UInt8] = [24]
}

extension UserID: Finding {
    public static let codes: [UInt8] = [7]

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> [UserID] {
        try reader.readUsers()
    }

    public static func gathered(_ list: [UserID]) -> [UserID] {
        // Each conversation's users are sorted already, which makes this sorting nearly linear.
        var gathered: [UserID] = []
        for user in list.sorted() where gathered.last != user { gathered.append(user) }
        return gathered
    }

    public var roughBytes: Int { text.utf8.count + 1 }
}

extension View where Subject == ItemView {
    public static let action = View(
        "ACTION",
        [
            .name("id") { $0.id.text },
            .flag("done") { $0.isDone },
            .due("due") { $0.due },
            .text("priority") { $0.priority?.rawValue },
            .name("chat") { $0.chat?.text },
            .name("message") { $0.message?.text },
            .text("title") { $0.title },
            .change("titleChanged") { $0.lastChanges?[0] },
            .change("dueChanged") { $0.lastChanges?[1] },
            .change("priorityChanged") { $0.lastChanges?[2] },
            .change("doneChanged") { $0.lastChanges?[3] },
        ])
}

extension ItemView: ListElement {
    /// The code 55 identifies items with the times of their last changes.
    public static let codes: [UInt8] = [6, 55]
    public static let exactCodes: [UInt8] = [55]
    public static var view: View<ItemView>? { .action }

    /// The position by due time; items without a due time are last.
    public var position: ListPosition {
        // Flipping the sign bit orders negative times, which are before 1970, first.
        let order = due.map { UInt64(bitPattern: $0.milliseconds) ^ 1 << 63 }
        return ListPosition(order: order ?? .max, id: id.text)
    }

    public static func gathered(_ list: [ItemView]) -> [ItemView] {
        var seen: Set<ItemID> = []
        return list.sorted().filter { seen.insert($0.id).inserted }
    }

    public static func rowBytes(of list: [ItemView]) -> Int {
        list.reduce(0) { $0 + $1.title.utf8.count + 160 }
    }
}

extension View where Subject == DeviceView {
    public static let device = View(
        "DEVICE",
        [
            .name("id") { $0.id.text },
            .text("token") { $0.token },
            .name("viewing") { $0.viewing?.text },
        ])
}

extension DeviceView: ListElement {
    public static let codes: [UInt8] = [23]
    public static var view: View<DeviceView>? { .device }
    public var position: ListPosition { ListPosition(order: 0, id: id.text) }
}

extension Device: Findings {
    public static let codes: [UInt8] = [20]
}

extension SignInStanding: Findings {
    public static let codes: [UInt8] = [31]
}

extension View where Subject == TokenHolder {
    public static let holder = View(
        "HOLDER",
        [
            .name("user") { $0.user.text },
            .name("device") { $0.device.text },
            .number("stamp") { $0.registered.time.bits },
        ])
}

extension TokenHolder: Finding {
    public static let codes: [UInt8] = [32]
    public static var view: View<TokenHolder>? { .holder }

    public static func gathered(_ list: [TokenHolder]) -> [TokenHolder] { Set(list).sorted() }

    public static func writeRows(
        of list: [TokenHolder], to writer: inout some RowWriter, naming namesMax: Int?
    ) {
        writer.rows(list.sorted(), as: .holder)
    }
}

extension NotificationCandidate: Finding {
    public static let codes: [UInt8] = [21]
}

extension View where Subject == NotificationView {
    public static let notification = View(
        "NOTIFICATION",
        [
            .name("id") { $0.id.text },
            .text("kind") { $0.kind.rawValue },
            .name("conversation") { $0.conversation.text },
            .name("message") { $0.message.text },
            .name("from") { $0.from.text },
            .text("fromName") { $0.fromName },
            .text("text") { $0.text },
            .flag("pushed") { $0.isPushed },
        ])
}

extension NotificationView: ListElement {
    public static let codes: [UInt8] = [22]
    public static var view: View<NotificationView>? { .notification }
    /// The position by id, which begins with the time, so that the oldest notification is first.
    public var position: ListPosition { ListPosition(order: 0, id: id.text) }
    public static func rowBytes(of list: [NotificationView]) -> Int {
        list.reduce(0) { $0 + ($1.text?.utf8.count ?? 0) + 192 }
    }
}

extension View where Subject == BlockView {
    public static let block = View(
        "BLOCKED", [.name("other") { $0.user.text }, .time("at") { $0.since }])
}

extension BlockView: ListElement {
    public static let codes: [UInt8] = [35]
    public static var view: View<BlockView>? { .block }
    public var position: ListPosition { ListPosition(order: 0, id: user.text) }
}

extension Blocks: Findings {
    public static let codes: [UInt8] = [34]

    public func page(_ page: ListPage) -> (findings: AnyFindings, next: String?) {
        page.isPart ? views.page(page) : (AnyFindings(self), nil)
    }

    public static let views = [BlockView].views

    public func writeRows(to writer: inout some RowWriter, naming namesMax: Int?) {
        writer.rows(views, as: .block)
    }
}

extension Acquaintance: Findings {
    public static let codes: [UInt8] = [36]

    public mutating func append(_ part: Acquaintance) -> Bool {
        add(part)
        return true
    }
}

extension View where Subject == AccountView {
    public static let account = View(
        "ACCOUNT",
        [
            .name("user") { $0.user.text },
            .name("address") { $0.address.text },
            .text("email") { $0.email },
            .time("createdAt") { $0.createdAt },
            .flag("disabled") { $0.isDisabled },
            .count("signins") { $0.signInsCount },
            .number("stamp") { $0.signedInAt > .zero ? $0.signedInAt.bits : nil },
            .text("password") { $0.password },
        ])
}

extension AccountView: Finding {
    public static let codes: [UInt8] = [26]
    public static var view: View<AccountView>? { .account }
    public static func gathered(_ list: [AccountView]) -> [AccountView] { list.firstPage }
    public static func rowBytes(of list: [AccountView]) -> Int { list.count * 384 }
}

extension View where Subject == Signing.Key {
    public static let key = View(
        "KEY",
        [
            .name("id") { $0.id.text },
            .text("secret") { $0.secret.text },
            .number("stamp") { $0.created.time.bits },
        ])
}

extension View where Subject == Signing.Revocation {
    public static let revocation = View(
        "REVOKED", [.name("name") { $0.name.text }, .number("through") { $0.time.bits }])
}

extension View where Subject == Signing {
    /// The status row of the list of signing keys and revocations.
    public static let signing = View("OK", [.number("through") { $0.floor.bits }])
}

extension Signing: Findings {
    public static let codes: [UInt8] = [27]
    public static let hasStatus = true
    public static let views = [
        ViewDescription(View<Signing.Key>.key),
        ViewDescription(View<Signing.Revocation>.revocation),
    ]

    public func writeRows(to writer: inout some RowWriter, naming namesMax: Int?) {
        writer.rows(keys, as: .key)
        writer.rows(revocations, as: .revocation)
        writer.row(self, as: .signing)
    }
}

extension View where Subject == FileView {
    public static let file = View(
        "FILE",
        [
            .name("id") { $0.id.text },
            .name("from") { $0.owner.text },
            .text("type") { $0.type },
            .number("size") { $0.size },
            .name("message") { $0.message?.text },
            .text("tag") { $0.tag },
            .time("at") { $0.createdAt },
        ])
}

extension FileView: Findings {
    /// The code 28 identifies a file without a tag, the code 30 a file with a tag.
    public static let codes: [UInt8] = [28, 30]
    public static let views = [ViewDescription(View<FileView>.file)]
    /// The most bytes of a file's tag.
    public static let tagBytesMax = 64

    public var code: UInt8 { tag == nil ? 28 : 30 }

    public func encodeContent(into writer: inout ByteWriter) {
        encode(into: &writer)
        if let tag { writer.write(tag) }
    }

    public static func decode(
        code: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> FileView {
        var view = try FileView(from: &reader)
        if code == 30 { view.tag = try reader.readText(limit: tagBytesMax) }
        return view
    }

    public func writeRows(to writer: inout some RowWriter, naming namesMax: Int?) {
        writer.row(self, as: .file)
    }
}

/// The bytes of one part of a file.
public struct FileBytes: Findings, WireValue {
    public static let codes: [UInt8] = [29]
    public static let views = [ViewDescription(View<FileBytes>.part)]

    public let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    public init(from reader: inout ByteReader) throws(WireError) {
        bytes = Array(try reader.readBytes(limit: FilePart.bytesMax))
    }

    public func encode(into writer: inout ByteWriter) { writer.write(bytes) }

    public func writeRows(to writer: inout some RowWriter, naming namesMax: Int?) {
        writer.row(self, as: .part)
    }

    public var rowBytes: Int { bytes.count }
}

extension View where Subject == FileBytes {
    public static let part = View("PART", [.text("bytes") { Base64.encode($0.bytes) }])
}

/// The size in bytes of the files that a user has uploaded and not sent, counted in each shard up
/// to about `File.unsentBytesMax`.
public struct UnsentBytes: Findings, WireValue {
    public static let codes: [UInt8] = [37]

    public private(set) var count: UInt64

    init(_ count: UInt64) { self.count = count }

    public init(from reader: inout ByteReader) throws(WireError) {
        count = try reader.readVarint()
    }

    public func encode(into writer: inout ByteWriter) { writer.write(varint: count) }

    public mutating func append(_ part: UnsentBytes) -> Bool {
        let (sum, isOver) = count.addingReportingOverflow(part.count)
        count = isOver ? .max : sum
        return true
    }
}
