import CRDT
import Chat
import LineProtocol
import Wire

/// What a query found, cut to the part of the list that was asked for.
package struct Listing: Sendable {
    package let findings: Findings
    /// The cursor of the next part; nil where this is the last one.
    package let next: String?
    /// The sum of all counts, whichever part they are in; nil for findings that are no counts.
    package let total: Int?
    /// Whether the parts of some shards are missing.
    package let isPartial: Bool
    private let namesMax: Int?

    init(_ whole: Findings, _ page: ListPage, isPartial: Bool) {
        (findings, next) = whole.page(page)
        total =
            if case .unread(let all) = whole { all.reduce(0) { $0 + $1.count } } else { nil }
        self.isPartial = isPartial
        namesMax = page.namesMax
    }

    /// Writes the rows of the list, and the fields of its status.
    func write(to writer: inout some RowWriter) {
        switch findings {
        case .messages(let messages): writer.rows(messages, as: .message)
        case .edits(let edits): writer.rows(edits, as: .edit)
        case .users: break
        case .chats(let chats):
            writer.rows(chats.lazy.map { ListedChat(chat: $0, namesMax: namesMax) }, as: .chat)
        case .unread(let counts): writer.rows(counts, as: .unread)
        case .marks(let marks): writer.rows(marks, as: .mark)
        case .changes(let changes): writer.rows(changes, as: .change)
        case .devices(let devices): writer.rows(devices, as: .device)
        case .blocks(let blocks): writer.rows(blocks.views, as: .block)
        case .blockViews(let blocks): writer.rows(blocks, as: .block)
        case .profile(let profile): writer.row(profile, as: .profile)
        case .profiles(let profiles):
            writer.rows(profiles.map(\.view).sorted { $0.user < $1.user }, as: .profile)
        case .actions(let items): writer.rows(items, as: .action)
        case .notifications(let notifications): writer.rows(notifications, as: .notification)
        case .accounts(let accounts): writer.rows(accounts, as: .account)
        case .signing(let signing):
            writer.rows(signing.keys, as: .key)
            writer.rows(signing.revocations, as: .revocation)
            return writer.row(signing, as: .signing)
        case .file(let file): writer.row(file, as: .file)
        case .part(let bytes): writer.row(bytes, as: .part)
        case .holders(let holders): writer.rows(holders.sorted(), as: .holder)
        case .device, .candidates, .names, .standing, .acquaintance, .bytes:
            preconditionFailure("only nodes ask for it")
        }
        writer.row(self, as: .listing)
    }

    /// About as many bytes as its rows have; 0 for few.
    ///
    /// A buffer that grows while it is written takes three times as much at the end.
    var roughBytes: Int {
        switch findings {
        case .messages(let messages):
            messages.reduce(0) {
                $0 + $1.text.utf8.count + listBytes($1.deliveredTo) + listBytes($1.readBy) + 160
            }
        case .edits(let edits): edits.reduce(0) { $0 + $1.text.utf8.count + 48 }
        case .actions(let items): items.reduce(0) { $0 + $1.title.utf8.count + 160 }
        case .chats(let chats):
            chats.reduce(0) { bytes, chat in
                let texts = (chat.title?.utf8.count ?? 0) + (chat.last?.text.utf8.count ?? 0)
                return bytes + texts + listBytes(chat.participants) + 360
            }
        case .unread(let counts): counts.count * 64
        case .marks(let marks): marks.count * 128
        case .changes(let changes): changes.count * 192
        case .profiles(let profiles): profiles.count * 256
        case .notifications(let notifications):
            notifications.reduce(0) { $0 + ($1.text?.utf8.count ?? 0) + 192 }
        case .accounts(let accounts): accounts.count * 384
        case .part(let bytes): bytes.count
        default: 0
        }
    }
}

/// Returns the size of a list of names in bytes, with a comma behind each.
private func listBytes(_ names: [UserID]) -> Int {
    names.reduce(0) { $0 + $1.text.utf8.count + 1 }
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

extension View where Subject == Signing {
    /// The status of the list of keys and revocations.
    static let signing = View("OK", [.number("through") { $0.floor.bits }])
}
