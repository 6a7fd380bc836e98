import Manual
import TestKit
import Testing

@testable import Server

/// The table of options in `cluster/README.md`, compared with what `grapevine node --help` prints.
@Suite struct HandbookTests {
    private let handbook: Handbook

    init() throws { handbook = try Handbook() }

    @Test func `the table has every option of a node, once, and no other`() throws {
        let listed = handbook.rows(of: "node")
        let known = try Handbook.options(in: NodeCommand.help.usage)
        #expect(!known.isEmpty)
        #expect(Set(listed).count == listed.count)
        #expect(known.subtracting(listed) == [], "in --help, and not in the table")
        #expect(Set(listed).subtracting(known) == [], "in the table, and not in --help")
    }

    @Test func `a node takes every option of the table`() {
        for option in handbook.rows(of: "node") {
            // It complains of the value, or of what else is missing.
            do throws(UsageError) {
                _ = try NodeCommand(["\(option)=?"])
            } catch {
                #expect(!error.sentence.hasPrefix("unknown option"), "\(option)")
            }
        }
    }
}
