import Admin
import Chat
import Foundation
import LineProtocol
import Testing
import Wire

@testable import Gateway

/// The agreement of `cluster/API.md` with the limits in the code, which no block of the page
/// reaches.
@Suite struct TutorialPageTests {
    private let page: String

    init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "cluster/API.md")
        page = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    @Test func `the limits on the page are those of the code`() {
        func grouped(_ number: Int) -> String {
            number < 1_000
                ? "\(number)"
                : "\(number / 1_000)," + String("\(1_000 + number % 1_000)".dropFirst())
        }
        let rows = [
            "| a message's text | \(grouped(ChatLimits.textBytesMax)) bytes",
            "a device's token | \(grouped(ChatLimits.titleBytesMax)) bytes",
            "| an id | 1 to \(nameBytesMax) letters",
            "of a file \(LineLimits.fileNameBytesMax) |",
            "| the body of a request | \(AppLimits.bodyBytesMax >> 10) KiB",
            "| an answer | \(AppLimits.answerBytesMax >> 20) MiB",
            "| a file, its preview | \(File.bytesMax >> 20) MiB, "
                + "\(Attachment.previewBytesMax >> 10) KiB",
            "| files that are not sent | \(File.unsentBytesMax >> 20) MiB",
            "| participants of a conversation | \(grouped(ChatLimits.participantsMax)) |",
            "| edits of a message | \(ChatLimits.editsMax), within 15 minutes",
            "a conversation is created | \(AppLimits.emailsMax) |",
            "| devices of a user | \(ChatLimits.devicesMax) |",
            "| sign-ins of an account | \(Credentials.SignIn.countMax) |",
            "| users whom a user has blocked | \(Blocks.countMax) |",
            "| \(Acquaintance.strangersMax) without an answer |",
            "\(AppLimits.waitingRequestsMax) at once of a WebSocket",
        ]
        for row in rows { #expect(page.contains(row), "\(row)") }
    }

    @Test func `the table of objects is that of the views`() {
        for view in ViewDescription.all where view.noun != "OK" {
            #expect(page.contains("\n\(view.objectRow)\n"), "\(view.objectRow)")
        }
    }

    @Test func `each event is on the page with its keys, or is told with the keys of a shape`() {
        let kinds = [
            "message", "edit", "restore", "delete", "pin", "unpin", "read", "delivered", "typing",
            "member", "archive", "unarchive", "hide", "action", "profile",
        ]
        for kind in kinds { #expect(page.contains("`\(kind)`"), "\(kind)") }
        let ofShapes = Set(
            ([MessageView].views + [ItemView].views + ProfileView.views).flatMap(\.keys)
                .map(\.name))
        for key in ViewDescription.event.keys where !ofShapes.contains(key.name) {
            #expect(
                page.contains("`\(key.name)`") || page.contains("\"\(key.name)\""), "\(key.name)")
        }
    }
}
