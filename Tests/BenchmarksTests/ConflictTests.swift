import Testing

@testable import Benchmarks

@Suite struct ConflictTests {
    private static let conflicts = Conflict.all(in: "c", making: "d")

    /// Returns the findings in a reply to one of a conflict's questions.
    private func findings(_ name: String, _ question: Int, _ lines: [String]) throws -> [String] {
        let conflict = try #require(Self.conflicts.first { $0.name == name })
        let answer = reply(lines + ["OK"])
        return conflict.questions[question].outcomes.compactMap { $0.finding(in: answer) }
    }

    @Test(arguments: [
        ("edit and edit", "MESSAGE id=edit text=\"the later text\"", "text=\"the earlier text\""),
        ("pin-and-pin", "MESSAGE id=pin-and-pin pinnedBy=cleo", "pinnedBy=ben"),
        ("unpin-and-pin", "MESSAGE id=unpin-and-pin pinnedBy=cleo", ""),
        ("pin-and-unpin", "MESSAGE id=pin-and-unpin", "pinnedBy=cleo"),
        ("archive and unarchive", "CHAT id=c archived=true", ""),
        ("unarchive and archive", "CHAT id=c archived=true", ""),
        (
            "delete-and-edit",
            "MESSAGE id=delete-and-edit text=\"[Message deleted]\" deletedForEveryone=true",
            "text=\"back again\""
        ),
        (
            "two sendings of one id", "MESSAGE id=twice from=ada text=\"the earlier one\"",
            "from=ben text=\"the later one\""
        ),
        (
            "two creations", "CHAT id=d participants=eva,fay,gil,hal createdBy=eva title=earlier",
            "participants=gil,hal createdBy=gil title=later"
        ),
    ])
    func `the one outcome passes and the other is found`(
        name: String, right: String, otherFields: String
    ) throws {
        #expect(try findings(name, 0, [right]).isEmpty)
        let noun = right.split(separator: " ").prefix(2).joined(separator: " ")
        #expect(try findings(name, 0, ["\(noun) \(otherFields)"]).count == 1)
        #expect(try findings(name, 0, []).count == 1)
    }

    @Test func `a deleted message that is pinned, or still has texts, is found`() throws {
        for name in ["delete-and-pin", "pin-and-delete", "edit-and-delete", "delete-and-restore"] {
            #expect(try findings(name, 1, []).isEmpty)
            #expect(try findings(name, 1, ["MESSAGE id=\(name) text=x"]).count == 1)
            #expect(try findings(name, 2, []).isEmpty)
            #expect(try findings(name, 2, ["EDIT at=x text=x"]).count == 1)
        }
    }

    @Test func `a refusal is found`() {
        for outcome in Self.conflicts.flatMap(\.questions).flatMap(\.outcomes) {
            #expect(outcome.finding(in: reply("ERR 503 later")) == "is answered ERR 503 later")
        }
    }
}
