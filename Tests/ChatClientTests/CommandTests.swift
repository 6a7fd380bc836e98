import Testing

@testable import ChatClient

@Suite struct CommandTests {
    @Test func `what begins with a slash is a command, two slashes are one`() throws {
        #expect(try Command("hello / there") == .say("hello / there"))
        #expect(try Command("//help") == .say("/help"))
        #expect(try Command("/help") == .help)
        #expect(try Command("/open c1") == .open("c1"))
        #expect(try Command("/chats") == .list(archived: false))
        #expect(try Command("/chats lunch  bob") == .listFound("lunch bob"))
        #expect(try Command("/delete 3") == .delete("3", everyone: false))
        #expect(try Command("/delete 3 everyone") == .delete("3", everyone: true))
        #expect(
            try Command("/new c1 bob carol -- Lunch at two")
                == .create("c1", users: ["bob", "carol"], title: "Lunch at two"))
    }

    @Test func `an edit keeps the spaces of its text`() throws {
        #expect(try Command("/edit 3  two  spaces ") == .edit("3", " two  spaces "))
        #expect(try Command("/edit no number") == .edit(nil, "no number"))
        #expect(try Command("/edit 905a late") == .edit("905a", "late"))
    }

    @Test func `an edit without a text begins from the one that there is`() throws {
        #expect(try Command("/edit") == .edit(nil, nil))
        #expect(try Command("/edit 3 ") == .edit("3", nil))
    }

    @Test(arguments: [
        "/fly", "/open", "/delete x", "/delete 0", "/delete 1 bob", "/new c1",
        "/delete 0-", "/delete a", "/bell", "/bell loud",
    ])
    func `what is unclear is refused with a sentence`(line: String) {
        #expect(throws: Command.Unclear.self) { try Command(line) }
    }
}
