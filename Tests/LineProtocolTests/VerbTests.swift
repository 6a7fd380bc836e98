import Testing

@testable import LineProtocol

@Suite struct VerbTests {
    @Test func `a verb's usage shows its arguments, options and text`() throws {
        #expect(
            try Verb.matching("send").map(\.usage) == [
                "SEND <conversation> <user> [id=<id>] [type=text|image|voice|system|action] "
                    + "[item=<id>] [blob=<id>] [preview=<id>] <text>"
            ])
    }

    @Test func `HELP knows every verb, and no other`() throws {
        #expect(try Verb.matching(nil).count == Verb.all.count)
        #expect(Set(Verb.all.map(\.name)).count == Verb.all.count)
        #expect(throws: LineError.noSuchVerb) { try Verb.matching("nosuch") }
        #expect(throws: LineError.noSuchVerb) { try Verb.matching("SEN") }
        for verb in Verb.all {
            #expect(verb.about.hasSuffix(".") && verb.usage.hasPrefix(verb.name))
        }
    }

    @Test func `a verb may have two words`() throws {
        let verbs = [
            Verb("ACTION ADD", .writes, ["<user>"], text: "<title>", about: "") {
                words throws(LineError) in
                .help("add \(try words.text())")
            },
            Verb("ACTION DONE", .writes, ["<user>"], about: "") { _ throws(LineError) in
                .help("done")
            },
        ]
        #expect(try parse("action Add alice  x", verbs) == .help("add  x"))
        #expect(try parse("Action  done alice", verbs) == .help("done"))
        #expect(throws: LineError.self) { try parse("ACTION", verbs) }
        #expect(throws: LineError.self) { try parse("ACTION UNDO alice", verbs) }
        #expect(verbs[0].usage == "ACTION ADD <user> <title>")
    }

    private func parse(_ line: String, _ verbs: [Verb]) throws -> Request? {
        try Array(line.utf8).withUnsafeBytes { try Request.parse($0, verbs: verbs) { "new" } }
    }
}
