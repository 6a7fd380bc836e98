import Chat
import LineProtocol
import TestKit
import Testing
import Wire

@Suite struct RequestParserTests {
    @Test(arguments: [
        "CREATE . alice,bob", "CREATE .. alice", "CREATE c ..,bob", "CREATE c alice,bob,.",
        "INVITE c alice ..", "SEND c alice id=.. hi", "ACTION ADD alice id=. do it",
        "DEVICE ADD alice .. token=t", "PROFILE .. name=dots",
        "ACCOUNT ADD a1 .. email=a@b.org password=h",
    ])
    func `nothing new is called by dots alone, which HTTP cannot name`(line: String) {
        guard case .failure(let error) = parsed(line) else {
            Issue.record("it is taken")
            return
        }
        #expect(error == LineError(400, "Nothing new is called . or .."))
    }

    @Test(arguments: [
        "SEND .. alice hi", "DELETE c alice .. for=me", "HIDECHAT . alice",
        "ACTION DELETE alice ..", "DEVICE REMOVE alice .", "CREATE ... alice,b.b", "CHATS ..",
        "HISTORY .. alice", "SEND c alice id=.a hi",
    ])
    func `what is called by dots from before is read and removed`(line: String) throws {
        _ = try parsed(line).get()
    }

    @Test(arguments: [
        ("SEND c alice hi", "hi"),
        ("SEND c alice  hi", " hi"),
        ("SEND c alice hi ", "hi "),
        ("send   c   alice   id=x   hi", "  hi"),
        ("SEND c alice id=x hi", "hi"),
        ("SEND c alice id=x  two spaces", " two spaces"),
        ("SEND c alice  id=x hi", "hi"),
        ("SEND c1 alice -- e=mc2 rules", "e=mc2 rules"),
        ("SEND c1 alice id=x -- e=mc2", "e=mc2"),
        ("SEND c alice --  x", " x"),
        ("SEND c alice   -- x", "x"),
        ("SEND c alice -- -- x", "-- x"),
        ("SEND c alice --x", "--x"),
        ("SEND c alice -", "-"),
        ("SEND c alice hi id=x", "hi id=x"),
        ("SEND c alice E=mc2", "E=mc2"),
        ("SEND c alice =x", "=x"),
        ("SEND c alice a1=x", "a1=x"),
        ("SEND c alice https://x.org/?q=1", "https://x.org/?q=1"),
        ("SEND c alice a\tb", "a\tb"),
        ("SEND c alice \tid=x", "\tid=x"),
        (#"SEND c alice a\nb\tc\rd\\e"#, "a\nb\tc\rd\\e"),
        (#"SEND c alice \q \" \u{41} \"#, #"\q \" \u{41} \"#),
        (#"SEND c alice \\n"#, #"\n"#),
        (#"SEND c alice "quoted""#, #""quoted""#),
        ("SEND c alice 👩‍👩‍👧 e\u{301} \u{202E}abc \u{1}\u{7F}", "👩‍👩‍👧 e\u{301} \u{202E}abc \u{1}\u{7F}"),
        ("SEND c alice \u{200B}", "\u{200B}"),
        ("  SEND c alice hi", "hi"),
    ])
    func `a text begins behind one space and is kept exactly`(line: String, text: String) {
        #expect(
            sent(line)?.text.unicodeScalars.elementsEqual(text.unicodeScalars) == true, "\(line)")
    }

    @Test func `what is not plain is seen at every place of a text`() {
        for place in 0..<40 {
            let (before, after) = (
                String(repeating: "a", count: place), String(repeating: "b", count: 39 - place)
            )
            #expect(sent("SEND c alice \(before)é\(after)")?.text == "\(before)é\(after)")
            #expect(sent(#"SEND c alice \#(before)\n\#(after)"#)?.text == "\(before)\n\(after)")
            #expect(refused("SEND c alice \(before)\0\(after)") == .holdsNUL)
            let broken = Array("SEND c alice \(before)".utf8) + [0xFF] + Array(after.utf8)
            guard case .failure(.notUTF8) = parsed(broken) else {
                Issue.record("broken UTF-8 at \(place) was taken")
                continue
            }
        }
    }

    @Test(arguments: [
        "SEND c alice", "SEND c alice ", "SEND c alice    ", "SEND c alice --", "SEND c alice -- ",
        "SEND c alice id=x", "SEND c alice id=x ", #"SEND c alice \n\t \r"#, "SEND c alice \t",
        "SEND c alice \u{A0}\u{2003}\u{3000}\u{85}\u{2028}", "SEND c alice type=system ",
        "SEND c alice type=action", "EDIT c m alice", #"EDIT c m alice \n \t"#,
        "EDIT c m alice -- ",
    ])
    func `an empty or all-white text is refused`(line: String) {
        #expect(refused(line) == .messageEmpty, "\(line)")
    }

    @Test(arguments: ["", " ", " --", " -- "])
    func `an image or a voice message may have an empty text`(rest: String) {
        #expect(sent("SEND c alice type=image" + rest)?.text == "")
        #expect(sent("SEND c alice type=voice item=i.1" + rest)?.text == "")
    }

    @Test func `options give the message its id, type and item`() {
        let send = sent(#"SEND c alice item="i:1" type=image id=m@1 look"#)
        #expect(send?.id == MessageID("m@1"))
        #expect(send?.type == .image)
        #expect(send?.item == ItemID("i:1"))
        #expect(send?.text == "look")
        #expect(sent("SEND c alice hi")?.id == nil)
        #expect(sent("SEND c alice hi")?.type == .text)
    }

    @Test func `a text has at most 16384 bytes after unescaping`() {
        let longest = String(repeating: "x", count: LineLimits.textBytesMax)
        #expect(sent("SEND c alice \(longest)")?.text == longest)
        #expect(refused("SEND c alice \(longest)x") == .textTooLong)
        let escaped = String(repeating: #"\\"#, count: LineLimits.textBytesMax)
        #expect(sent("SEND c alice \(escaped)")?.text.utf8.count == LineLimits.textBytesMax)
        #expect(refused(#"EDIT c m alice \#(escaped)\\"#)?.code == 413)
    }

    @Test(
        arguments: [
            [0xC3], [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xE2, 0x82],
            [0xC3, 0x5C, 0x6E], [0x00], [0x61, 0x00, 0x62],
        ] as [[UInt8]])
    func `broken UTF-8 and NUL are refused wherever they stand`(bytes: [UInt8]) {
        let places = [
            ("SEND c alice ", ""), ("SEND c alice hi ", " hi"), ("EDIT c m alice ", ""),
            ("CREATE c alice title=", ""), ("CREATE c alice title=\"", "\""), ("SEND c ", " hi"),
            ("SEND c alice id=", " hi"), ("", ""), ("PING ", ""), ("HISTORY c a ", "=1"),
        ]
        for (before, after) in places {
            let line = Array(before.utf8) + bytes + Array(after.utf8)
            guard case .failure(let error) = parsed(line) else {
                Issue.record("\(before) \(bytes) was taken")
                continue
            }
            #expect(error.code == 400)
        }
        #expect(refused(#"CREATE c alice title="\u{0}""#) == .holdsNUL)
    }

    @Test(arguments: [
        ("SEND c1 alice e=mc2 rules", "Unknown option e=; write --"),
        ("SEND c1 alice id=a id=b hi", "Option id= given twice; write --"),
        ("SEND c1 alice id=a/b hi", "id= is 1-64"),
        ("SEND c1 alice id= hi", "Empty id=; write --"),
        (#"SEND c1 alice id="" hi"#, "Empty id="),
        (#"SEND c1 alice id="a hi"#, "Bad quotes in id="),
        (#"SEND c1 alice id="a"b hi"#, "Bad quotes in id="),
        (#"SEND c1 alice id="\q" hi"#, "Bad escape"),
        ("SEND c1 alice type=Text hi", "type= is one of text|image|voice|system|action; write --"),
        ("EDIT c m alice x=y", "Unknown option x=; write --"),
        ("SEND", "Missing <conversation>"), ("SEND c1", "Missing <user>"),
        ("SEND c1 id=x hi", "Missing <user>"),
        ("SEND c/1 alice hi", "<conversation> is 1-64"),
        ("SEND c1 al\tice hi", "<user> is 1-64"),
        ("HISTORY c alice foo", "Too many words, at foo"),
        ("HISTORY c alice limit=5 foo", "Too many words"),
        ("HISTORY c alice since=1", "Unknown option since="),
        ("HISTORY c alice before=a after=b", "exclude"),
        ("HISTORY c alice limit=0", "from 1 to 1000"), ("HISTORY c alice limit=1001", "1000"),
        ("HISTORY c alice limit=-1", "1000"), ("HISTORY c alice limit=5x", "1000"),
        ("HISTORY c alice limit=99999999999999999999", "1000"),
        ("HISTORY c alice before=", "Empty"),
        ("DELETE c m alice for=us", "for= is one of me|everyone"), ("DELETE c m", "Missing <user>"),
        ("DELETE c m alice everyone", "Too many words"),
        ("RESTORE c m alice x=1", "Unknown option"),
        ("CREATE c", "Missing <user>"), ("CREATE c alice bob", "Too many words, at bob"),
        ("CREATE c alice,", "each of"), ("CREATE c ,alice", "each of"),
        ("CREATE c a,,b", "each of"),
        ("CREATE c alice title=Weekend trip", "Too many words"),
        ("VECTOR", "Missing <shard>"), ("VECTOR x", "<shard> is a number"), ("DIGEST -1", "number"),
        ("DIGEST 1 2", "Too many words"), ("SET", "Missing ack="),
        ("SET ack=some", "local|majority|all"),
        ("SET ack=", "Empty ack="), ("WAIT 1", "Missing <milliseconds>"), ("WAIT -1 5", "number"),
        ("WAIT 1 60001", "up to 60000"), ("WAIT 1 5 6", "Too many words"), ("WAIT one 5", "number"),
        ("SHARDS 1", "Too many words, at 1"), ("OWNERS", "Missing <conversation>"),
        ("OWNERS c/1", "<conversation> is 1-64"), ("OWNERS c d", "Too many words, at d"),
        ("BLOCK", "Missing <node>"), ("BLOCK *", "<node> is 1-64"),
        ("BLOCK n2 IN", "Not one of both|in|out"), ("BLOCK n2 é", "Not one of both|in|out"),
        ("BLOCK n2 in out", "Too many words, at out"), ("UNBLOCK", "Missing <node>|*"),
        ("UNBLOCK **", "<node>|* is 1-64"), ("UNBLOCK n2 in", "Too many words, at in"),
        ("JOIN", "Missing <addr>"), ("JOIN n2:7102 n3:7103", "Too many words"),
        ("LEAVE now", "Too many words"), ("FORGET", "Missing <node>"),
        ("FORGET *", "<node> is 1-64"),
        ("PING now", "Too many words, at now"), ("PING --", "Too many words"),
        ("\tPING", "Unknown verb"), ("PING\t", "Unknown verb"), ("HELPME", "Unknown verb HELPME"),
        ("SENDSENDSENDSENDSENDSENDSEND c alice hi", "Unknown verb SENDSEND"),
        ("é", "Unknown verb;"),
        (String(repeating: "A", count: 60_000), "Unknown verb;"), ("-- PING", "Unknown verb"),
    ])
    func `what is wrong is said`(line: String, part: String) {
        let error = refused(line)
        #expect(error?.code == 400, "\(line.prefix(99))")
        #expect(
            error?.sentence.contains(part) == true,
            "\(line.prefix(99)): \(String(describing: error))")
    }

    @Test(arguments: ["", " ", "      "])
    func `a blank line is no request`(line: String) {
        #expect(parsed(line) == .success(nil))
    }

    @Test func `verbs are case-insensitive and spaces at the end do not count`() {
        #expect(parsed("ping   ") == .success(.ping))
        #expect(parsed("  sTaTuS") == .success(.status))
        #expect(parsed("MEMBERS") == .success(.members))
        #expect(parsed("Shutdown") == .success(.shutdown))
        #expect(parsed("help") == .success(.help(nil)))
        #expect(parsed("HELP send") == .success(.help("send")))
        #expect(
            parsed("SET ack=all ")
                == .success(.set(Request.SetLevel(level: .all, isStrict: false))))
        #expect(
            parsed("SET strict=true ack=local")
                == .success(.set(Request.SetLevel(level: .local, isStrict: true))))
    }

    @Test func `shards and waits are numbers within their bounds`() {
        #expect(parsed("DIGEST") == .success(.digest(nil)))
        #expect(parsed("DIGEST 007") == .success(.digest(ShardID(7))))
        #expect(parsed("VECTOR 65535") == .success(.vector(ShardID(65_535))))
        #expect(refused("VECTOR 65536") == .shardNotHeld)
        #expect(refused("DIGEST 99999999999999999999999") == .shardNotHeld)
        #expect(parsed("WAIT 0 0") == .success(.wait(.init(replicas: 0, timeout: .zero))))
        #expect(
            parsed("WAIT 3 60000") == .success(.wait(.init(replicas: 3, timeout: .seconds(60)))))
    }

    @Test func `a block goes both ways where nothing is said`() {
        let node = NodeName(checked: "n2")
        #expect(parsed("BLOCK n2") == .success(.block(.init(node: node, direction: .both))))
        for direction in BlockDirection.allCases {
            #expect(
                parsed("block n2 \(direction.rawValue)")
                    == .success(.block(.init(node: node, direction: direction))))
        }
        #expect(parsed("UNBLOCK n2") == .success(.unblock(node)))
        #expect(parsed("UNBLOCK *") == .success(.unblock(nil)))
    }

    @Test(arguments: [
        "127.0.0.1:7101", "localhost:1", "[::1]:65535", "[::ffff:127.0.0.1]:7101", "my-host.org:80",
        String(repeating: "h", count: 251) + ":7101",
    ])
    func `an address is a host and a port`(address: String) {
        #expect(parsed("JOIN \(address)") == .success(.join(address)))
    }

    @Test(arguments: [
        "n2", ":", ":7101", "n2:", "n2:x", "n2:0", "n2:65536", "n2:+1", "n2:-1", "::1:7101",
        "[::1]", "[]:7101", "[::1:7101", "[:7101", "[[::1]]:7101", "a@b:7101", "a/b:7101",
        "a_b:7101", "é:7101", "n2:99999999999999999999", "n2:7101,n3:7101",
        String(repeating: "h", count: 252) + ":7101",
    ])
    func `what is no host and port is refused`(address: String) {
        let error = refused("JOIN \(address)")
        #expect(error?.code == 400, "\(address)")
        #expect(error?.sentence.hasPrefix("<addr> is host:port, at most 256 bytes") == true)
    }

    private let room = ConversationID(checked: "c")
    private let bob = UserID(checked: "bob")

    @Test func `a user list is a set whose first is the creator`() {
        let participants = [UserID(checked: "alice"), bob]
        #expect(
            change(#"CREATE c bob,alice,bob title="a \"b\"""#)
                == Mutation(
                    CreateConversation(participants: participants, title: #"a "b""#), in: room,
                    by: bob))
    }

    @Test func `a title is cleared by an empty value and has at most 1024 bytes`() {
        #expect(
            change("CREATE c bob title=")
                == Mutation(CreateConversation(participants: [bob], title: nil), in: room, by: bob))
        let longest = String(repeating: "é", count: LineLimits.fieldBytesMax / 2)
        #expect(refused("CREATE c bob title=\(longest)") == nil)
        #expect(refused("CREATE c bob title=\(longest)x")?.code == 413)
    }

    @Test func `a conversation has at most 1000 different participants`() {
        let users = (0..<1_000).map { "u\($0)" }.joined(separator: ",")
        #expect(refused("CREATE c \(users),u1,u2") == nil)
        #expect(refused("CREATE c \(users),u1000") == .tooManyParticipants)
    }

    @Test func `a name has at most 64 bytes`() {
        let longest = String(repeating: "n", count: 64)
        #expect(sent("SEND \(longest) \(longest) id=\(longest) hi")?.id == MessageID(longest))
        #expect(refused("SEND \(longest)n alice hi")?.code == 400)
        #expect(refused("SEND c alice id=\(longest)n hi")?.code == 400)
        #expect(sent("SEND -- -- hi")?.text == "hi")
    }

    @Test(arguments: UInt64(0)..<20)
    func `any text that a client spells is the text that is sent`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        for _ in 0..<500 {
            let text = randomText(&generator)
            let send = sent("SEND c alice type=image -- \(text.asLineText)")
            if text.utf8.contains(0) {
                #expect(send == nil)
            } else {
                #expect(send.map { Array($0.text.utf8) } == Array(text.utf8), "seed \(seed)")
            }
        }
    }

    @Test(arguments: UInt64(0)..<20)
    func `no line traps the parser, and every refusal has a code`(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        let seeds = [
            "SEND c1 alice id=m1 type=text item=i -- hello \\n there", "EDIT c1 m1 alice new text",
            #"CREATE c1 alice,bob title="a \u{7f} \"b\"""#, "HISTORY c1 alice limit=5 before=m1",
            "DELETE c1 m1 alice for=everyone", "WAIT 2 100", "SET ack=all", "HELP SEND", "DIGEST 3",
            "BLOCK n2 out", "UNBLOCK *", "JOIN [::1]:7101", "OWNERS c1",
        ].map { Array($0.utf8) }
        for _ in 0..<10_000 {
            let line = mutated(seeds.randomElement(using: &generator) ?? [], &generator)
            if case .failure(let error) = parsed(line) {
                #expect([400, 404, 413, 429].contains(error.code))
                #expect(!error.sentence.isEmpty)
            }
        }
    }
}

/// The line with a few bytes changed, put in, left out, or repeated.
func mutated(_ line: [UInt8], _ generator: inout some RandomNumberGenerator) -> [UInt8] {
    let telling = Array(" \"\\={}u-,\n\r\t\0ae1".utf8) + [0x80, 0xC2, 0xFF]
    var line = line
    for _ in 0..<Int.random(in: 0...6, using: &generator) {
        let position = Int.random(in: 0...line.count, using: &generator)
        let byte =
            Bool.random(using: &generator)
            ? telling.randomElement(using: &generator) ?? 0
            : UInt8.random(in: 0...255, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: line.insert(byte, at: position)
        case 1 where position < line.count: line[position] = byte
        case 2 where position < line.count: line.remove(at: position)
        case 3: line.append(contentsOf: line.prefix(position))
        default: line = Array(line.prefix(position))
        }
    }
    return line
}
