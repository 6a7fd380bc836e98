import Manual
import TestKit
import Testing

@testable import LineClient

/// The table of options in `cluster/README.md`, compared with what
/// `grapevine ask --help` and `grapevine chat --help` print.
@Suite struct HandbookTests {
    private let handbook: Handbook

    init() throws { handbook = try Handbook() }

    @Test(arguments: [("ask", AskCommand.help.usage), ("chat", ChatCommand.help.usage)])
    func `the table has every option of a client, once, and no other`(
        command: String, usage: String
    ) throws {
        let listed = handbook.rows(of: command)
        let known = try Handbook.options(in: usage)
        #expect(!known.isEmpty)
        #expect(Set(listed).count == listed.count)
        #expect(known.subtracting(listed) == [], "in --help, and not in the table")
        #expect(Set(listed).subtracting(known) == [], "in the table, and not in --help")
    }
}
