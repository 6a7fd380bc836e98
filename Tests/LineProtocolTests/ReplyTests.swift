import Chat
import LineProtocol
import TestKit
import Testing
import Wire

@Suite struct ReplyTests {
    @Test func `a data line holds the pairs that are there`() {
        let text = written { writer in
            writer.line("MESSAGE") {
                $0.pair("id", name: "m1")
                $0.pair("at", time: 1_795_240_800_123)
                $0.pair("type", MessageType.image.rawValue)
                $0.pair("text", "see you at 6")
                $0.pair("item", name: nil)
                $0.pair("title", String?.none)
                $0.pair("edited", time: nil)
                $0.flag("deletedForEveryone", false)
                $0.flag("done", true)
                $0.list("readBy", words: ["al", "bob"])
                $0.list("deletedBy", words: [])
                $0.list("owners", ["n2", "n1", "n3"].compactMap { NodeName($0) })
                $0.list("nobody", [NodeName]())
                $0.pair("count", -12)
                $0.pair("least", Int64.min)
                $0.pair("most", UInt64.max)
                $0.pair("hash", Hash128(high: 0xAB, low: 1).description)
                $0.pair("digest", String?.none)
                $0.pair("replicas", 2, of: 3)
                $0.pair("rtt", Duration.microseconds(1_050).asLineValue)
                $0.pair("shard", ShardID(7).number)
            }
        }
        #expect(
            text == """
                MESSAGE id=m1 at=2026-11-21T06:00:00.123Z type=image text="see you at 6" done=true \
                readBy=al,bob owners=n2,n1,n3 count=-12 least=-9223372036854775808 \
                most=18446744073709551615 \
                hash=00000000000000ab0000000000000001 replicas=2/3 rtt=1.05ms shard=7

                """)
    }

    @Test(arguments: [
        ("plain", "plain"), ("", #""""#), ("a b", #""a b""#), ("a=b", #""a=b""#),
        (#"a"b"#, #""a\"b""#), (#"a\b"#, #""a\\b""#), ("a\nb\rc\td", #""a\nb\rc\td""#),
        ("\u{1B}", #""\u{1b}""#), ("\0", #""\u{0}""#), ("\u{7F}", #""\u{7f}""#),
        ("\u{85}x", #""\u{85}x""#), ("\u{A0}", "\u{A0}"), ("¡é😀", "¡é😀"), ("{}", "{}"),
    ])
    func `a value is quoted where it has to be`(value: String, spelled: String) {
        #expect(written { $0.line("X") { $0.pair("v", value) } } == "X v=\(spelled)\n")
        #expect(value.asLineValue == spelled)
    }

    @Test func `a status line is OK with pairs or ERR with a sentence of one line`() {
        #expect(written { $0.ok() } == "OK\n")
        #expect(written { $0.ok(word: "pong") } == "OK pong\n")
        #expect(written { $0.ok { $0.pair("ack", AckLevel.local.rawValue) } } == "OK ack=local\n")
        #expect(written { $0.error(.lineNotEnded) } == "ERR 400 line not ended\n")
        let sentence = "a\nOK\u{1B}b"
        #expect(written { $0.error(LineError(500, sentence)) } == #"ERR 500 a\nOK\u{1b}b"# + "\n")
    }

    @Test func `a client reads what a node writes`() {
        #expect(ReplyLine("OK pong") == ReplyLine("OK  pong "))
        guard case .ok(let pong)? = ReplyLine("OK pong") else {
            Issue.record("not a status")
            return
        }
        #expect(pong.words == ["pong"])
        guard
            case .data("MEMBER", let fields)? = ReplyLine(
                #"MEMBER name=n1 self=true note="a \"=\" \u{85}\\" empty="" set=a,b b64=YQ=="#)
        else {
            Issue.record("not a data line")
            return
        }
        #expect(fields["name"] == "n1")
        #expect(fields.isTrue("self"))
        #expect(fields["note"] == "a \"=\" \u{85}\\")
        #expect(fields["empty"] == "")
        #expect(fields["none"] == nil)
        #expect(fields.set("set") == ["a", "b"])
        #expect(fields["b64"] == "YQ==")
        #expect(fields.pairs.map(\.key) == ["name", "self", "note", "empty", "set", "b64"])
        #expect(ReplyLine("ERR 404 No such verb") == .error(.noSuchVerb))
        #expect(ReplyLine("ERR 500") == .error(LineError(500, "")))
    }

    @Test(arguments: [
        "", " OK", "ok", "metric 5", "m_x{a=\"b\"} 1", "ERR", "ERR x y", "ERR 99 z", "A v=\"",
        #"A v="a"b"#, #"A v="\q""#, #"A v="\u{}""#, #"A v="\u{110000}""#, #"A v="\u{d800}""#,
        #"A v="\u{0000041}""#, #"A v="\u41""#, "A =x", "# HELP x",
    ])
    func `what is no reply line is told`(line: String) {
        #expect(ReplyLine(line) == nil)
    }

    @Test(arguments: UInt64(0)..<40)
    func `any text comes back from a quoted value`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for _ in 0..<500 {
            let text = randomText(&generator)
            let bytes = Array(
                written {
                    $0.line("X") {
                        $0.pair("v", text)
                        $0.pair("w", 1)
                    }
                }.utf8)
            #expect(bytes.filter { $0 < 0x20 } == [0x0A])
            guard case .data("X", let fields)? = ReplyLine(bytes.dropLast()) else {
                Issue.record("seed \(seed): \(text.debugDescription)")
                continue
            }
            #expect(fields["v"].map { Array($0.utf8) } == Array(text.utf8), "seed \(seed)")
            #expect(fields["w"] == "1")
        }
    }

    @Test(arguments: UInt64(0)..<20)
    func `no line traps the reader`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let seeds = [
            #"MESSAGE id=m1 text="a \u{85} \n \"b\" \\" done=true"#, "OK pong a=1", "ERR 404 nope",
        ].map { Array($0.utf8) }
        for _ in 0..<10_000 {
            _ = ReplyLine(mutated(seeds.randomElement(using: &generator) ?? [], &generator))
        }
    }

    private func written(_ body: (inout ReplyWriter) -> Void) -> String {
        var writer = ReplyWriter()
        body(&writer)
        return String(decoding: writer.removeAll(), as: UTF8.self)
    }
}
