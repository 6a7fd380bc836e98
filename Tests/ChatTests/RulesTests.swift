import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct RulesTests {
    /// The state that a request finds.
    enum Scene: CaseIterable {
        case nothing
        /// A conversation, without the message.
        case conversation
        /// A conversation that everybody has left.
        case abandoned
        case message
        case edited
        case full
        case hiddenBySender
        case hiddenByBob
        case hiddenByAll
        case retracted
        case pinned
    }

    enum Verdict: Hashable {
        case changes
        case isDone
        case refused(Refusal)
    }

    struct Row {
        let action: ChatAction
        let user: UserID
        let scene: Scene
        let verdict: Verdict

        init(_ action: ChatAction, _ user: UserID, _ scene: Scene, _ verdict: Verdict) {
            self.action = action
            self.user = user
            self.scene = scene
            self.verdict = verdict
        }
    }

    private static let stranger = UserID(checked: "mallory")
    private static let aboutMessage: [ChatAction] = [
        .edit("new"), .hide, .retract, .restore, .pin, .unpin,
    ]
    private static let create = ChatAction.create(participants: People.all, title: nil)
    private static let createTitled = ChatAction.create(
        participants: People.all, title: "title")
    private static let createSmaller = ChatAction.create(
        participants: [People.alice], title: nil)

    /// Rows for the order of checks that all verbs share.
    static let order: [Row] =
        aboutMessage.flatMap { action in
            [
                Row(action, People.alice, .nothing, .refused(.messageNotFound)),
                Row(action, stranger, .nothing, .refused(.messageNotFound)),
                Row(action, stranger, .conversation, .refused(.notParticipant)),
                Row(action, stranger, .retracted, .refused(.notParticipant)),
                Row(action, People.alice, .abandoned, .refused(.notParticipant)),
                Row(action, People.alice, .conversation, .refused(.messageNotFound)),
            ]
        } + [
            Row(.send("hello"), stranger, .nothing, .refused(.conversationNotFound)),
            Row(.send("hello"), stranger, .message, .refused(.notParticipant)),
            Row(.send("hello"), People.alice, .abandoned, .refused(.notParticipant)),
        ]

    static let creations: [Row] = [
        Row(create, People.alice, .nothing, .changes),
        Row(create, People.alice, .conversation, .isDone),
        // Departures change nothing about the header.
        Row(create, People.alice, .abandoned, .isDone),
        Row(create, People.bob, .conversation, .refused(.conversationExists)),
        Row(createTitled, People.alice, .conversation, .refused(.conversationExists)),
        Row(createSmaller, People.alice, .conversation, .refused(.conversationExists)),
        Row(createSmaller, stranger, .conversation, .refused(.conversationExists)),
    ]

    static let sendings: [Row] = [
        Row(.send("hello"), People.alice, .conversation, .changes),
        Row(.send("hello"), People.alice, .message, .isDone),
        // The comparison is with the first text.
        Row(.send("hello"), People.alice, .edited, .isDone),
        Row(.send("edited"), People.alice, .edited, .refused(.messageExists)),
        Row(.send("other"), People.alice, .message, .refused(.messageExists)),
        Row(.send("hello"), People.bob, .message, .refused(.messageExists)),
        // Where the message is deleted for everyone, only the sender is compared.
        Row(.send("other"), People.alice, .retracted, .isDone),
        Row(.send("other"), People.bob, .retracted, .refused(.messageExists)),
        Row(.send("other"), People.alice, .hiddenBySender, .refused(.messageExists)),
    ]

    static let edits: [Row] = [
        Row(.edit("new"), People.alice, .message, .changes),
        Row(.edit("hello"), People.alice, .message, .isDone),
        Row(.edit("hello"), People.alice, .edited, .changes),
        Row(.edit("edited"), People.alice, .edited, .isDone),
        Row(.edit("new"), People.bob, .message, .refused(.editForbidden)),
        Row(.edit("hello"), People.bob, .message, .refused(.editForbidden)),
        Row(.edit("new"), People.alice, .retracted, .refused(.editForbidden)),
        Row(.edit("new"), People.alice, .hiddenBySender, .refused(.editForbidden)),
        Row(.edit("new"), People.alice, .hiddenByAll, .refused(.editForbidden)),
        Row(.edit("new"), People.alice, .hiddenByBob, .changes),
        Row(.edit("new"), People.alice, .full, .refused(.tooManyEdits)),
        Row(.edit("new"), People.bob, .full, .refused(.editForbidden)),
        Row(.edit("text 99"), People.alice, .full, .isDone),
    ]

    static let deletions: [Row] = [
        Row(.hide, People.bob, .message, .changes),
        Row(.hide, People.bob, .hiddenByBob, .changes),
        Row(.hide, People.bob, .retracted, .changes),
        Row(.hide, People.alice, .retracted, .changes),
        Row(.retract, People.alice, .message, .changes),
        Row(.retract, People.alice, .hiddenBySender, .changes),
        Row(.retract, People.alice, .hiddenByAll, .changes),
        Row(.retract, People.alice, .retracted, .changes),
        Row(.retract, People.bob, .message, .refused(.notSender)),
        Row(.retract, People.bob, .retracted, .refused(.notSender)),
        Row(.restore, People.bob, .hiddenByBob, .changes),
        // Also where nothing is hidden: an earlier deletion may still arrive.
        Row(.restore, People.alice, .hiddenByBob, .changes),
        Row(.restore, People.alice, .message, .changes),
        Row(.restore, People.alice, .retracted, .changes),
        Row(.restore, People.bob, .retracted, .changes),
    ]

    static let pins: [Row] = [
        Row(.pin, People.carol, .message, .changes),
        Row(.pin, People.bob, .pinned, .isDone),
        Row(.pin, People.alice, .pinned, .changes),
        Row(.pin, People.bob, .hiddenByBob, .changes),
        Row(.pin, People.alice, .retracted, .refused(.messageDeleted)),
        Row(.pin, People.alice, .hiddenByAll, .refused(.messageDeleted)),
        Row(.unpin, People.carol, .pinned, .changes),
        Row(.unpin, People.carol, .message, .isDone),
        Row(.unpin, People.carol, .retracted, .isDone),
    ]

    private static let newcomer = UserID(checked: "zoe")
    private static let aboutConversation: [ChatAction] = [
        .invite(newcomer), .leave, .archive, .unarchive, .read(nil), .deliver(nil),
    ]

    /// Judged without a participant state, as in a conversation that nobody has read.
    static let participation: [Row] =
        aboutConversation.flatMap { action in
            [
                Row(action, stranger, .nothing, .refused(.conversationNotFound)),
                Row(action, stranger, .conversation, .refused(.notParticipant)),
                Row(action, People.alice, .abandoned, .refused(.notParticipant)),
            ]
        } + [
            Row(.invite(newcomer), People.bob, .conversation, .changes),
            Row(.invite(People.alice), People.bob, .conversation, .isDone),
            Row(.leave, People.bob, .conversation, .changes),
            Row(.archive, People.bob, .conversation, .changes),
            Row(.unarchive, People.bob, .conversation, .changes),
            Row(.read(nil), People.bob, .conversation, .isDone),
            Row(.deliver(nil), People.bob, .conversation, .isDone),
            Row(.read(People.message), stranger, .nothing, .refused(.messageNotFound)),
            Row(.read(People.message), stranger, .conversation, .refused(.notParticipant)),
            Row(.read(People.message), People.bob, .conversation, .refused(.messageNotFound)),
            Row(.deliver(People.message), People.bob, .conversation, .refused(.messageNotFound)),
        ]

    @Test func `reading goes forward, and archiving is made anew`() throws {
        let conversation = Conversation.among()
        var author = Author(1)
        func judged(_ action: ChatAction, _ participantState: Document?, at number: UInt64)
            throws -> Bool
        {
            try Mutation(action, in: People.conversation, by: People.bob).judge(
                conversation: conversation, target: participantState,
                reached: ParticipantStateTests.position(number),
                by: Judge(wallMilliseconds: 0, editWindowMilliseconds: 0))
        }
        for action in [.read(nil), .deliver(People.message)] as [ChatAction] {
            #expect(try judged(action, nil, at: 2))
            let author = author.writer.nextAuthorship()
            let participantState = Mutation(action, in: People.conversation, by: People.bob)
                .applied(
                    to: nil,
                    with: ParticipantFindings(
                        mark: conversation.mark(
                            of: People.bob, at: ParticipantStateTests.position(2))),
                    by: author)
            #expect(try judged(action, participantState, at: 3))
            #expect(try !judged(action, participantState, at: 2))
            #expect(try !judged(action, participantState, at: 1))
        }
        let archived = author.apply(.archive, by: People.bob, to: nil)
        #expect(try judged(.archive, archived, at: 1))
        #expect(try judged(.unarchive, archived, at: 1))
    }

    @Test func `the thousandth participant is the last`() throws {
        let users = (1...ChatLimits.participantsMax).map { UserID(checked: "u\(10_000 + $0)") }
        let full = Conversation.among(users)
        #expect(
            verdict(of: .invite(Self.newcomer), by: users[0], full, nil)
                == .refused(.tooManyParticipants))
        #expect(verdict(of: .invite(users[1]), by: users[0], full, nil) == .isDone)
        let room = Conversation.among(Array(users.dropLast()))
        #expect(verdict(of: .invite(Self.newcomer), by: users[0], room, nil) == .changes)
    }

    @Test func `every row of the table is judged as the contract says`() throws {
        let tables = [
            RulesTests.order, RulesTests.creations, RulesTests.sendings, RulesTests.edits,
            RulesTests.deletions, RulesTests.pins, RulesTests.participation,
        ]
        for row in tables.joined() {
            let (conversation, target) = try stage(row.scene)
            let existing = isCreation(row.action) ? nil : target
            let verdict = verdict(of: row.action, by: row.user, conversation, existing)
            #expect(verdict == row.verdict, "\(row)")
        }
    }

    /// A mutation that has just been executed is judged to change nothing.
    @Test func `what was just done is done`() throws {
        for scene in Scene.allCases {
            let (conversation, target) = try stage(scene)
            guard let conversation, let target else { continue }
            for action in RulesTests.aboutMessage {
                var author = Author(3)
                let done = author.request(action, by: People.alice, of: target, in: conversation)
                guard done != target else { continue }
                // A deletion gets a new tag each time, so that it wins over a restore on its way;
                // so does a restore, which covers what arrives late.
                switch action.action {
                case is HideMessage, is RetractMessage, is RestoreMessage: continue
                default: break
                }
                #expect(
                    verdict(of: action, by: People.alice, conversation, done) == .isDone,
                    "\(action) \(scene)")
            }
        }
    }

    @Test(
        arguments: [
            (0, true), (899_999, true), (900_000, false), (900_001, false),
            (.max - 1_000_000, false),
        ] as [(UInt64, Bool)])
    func `the edit window is strict`(age: UInt64, isOpen: Bool) throws {
        let (conversation, target) = try stage(.message)
        let expected = isOpen ? Verdict.changes : .refused(.editForbidden)
        let edit = ChatAction.edit("new")
        #expect(verdict(of: edit, by: People.alice, conversation, target, age: age) == expected)
    }

    @Test func `a message from a clock that runs a little ahead may be edited, and no other`()
        throws
    {
        let (conversation, target) = try stage(.message)
        let sent = try #require(target?.message).header.sent.time.milliseconds
        let edit = Mutation(
            .edit("new"), in: People.conversation, by: People.alice)
        let near = Judge(wallMilliseconds: sent - 400, editWindowMilliseconds: 900_000)
        #expect(try edit.judge(conversation: conversation, target: target, by: near))
        let far = Judge(wallMilliseconds: sent - 600, editWindowMilliseconds: 900_000)
        #expect(throws: Refusal.editForbidden) {
            try edit.judge(conversation: conversation, target: target, by: far)
        }
    }

    /// A text is kept exactly, so texts that only look alike are different ones.
    @Test func `texts and titles are compared byte for byte`() throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        var author = Author(1)
        let target = author.apply(.send(composed), by: People.alice, to: nil)
        let conversation = Conversation.among()
        let edit = ChatAction.edit(decomposed)
        #expect(verdict(of: edit, by: People.alice, conversation, target) == .changes)
        let send = ChatAction.send(decomposed)
        #expect(
            verdict(of: send, by: People.alice, conversation, target)
                == .refused(.messageExists))
        let created = author.apply(
            .create(participants: People.all, title: composed), by: People.alice, to: nil)
        let again = ChatAction.create(participants: People.all, title: decomposed)
        #expect(
            verdict(of: again, by: People.alice, created.conversation, nil)
                == .refused(.conversationExists))
    }

    private func isCreation(_ action: ChatAction) -> Bool {
        action.action is CreateConversation
    }

    private func verdict(
        of action: ChatAction, by user: UserID, _ conversation: Conversation?,
        _ target: Document?, age: UInt64 = 0
    ) -> Verdict {
        let judge = Judge(
            wallMilliseconds: 1_000_000 + age, editWindowMilliseconds: 15 * 60 * 1_000)
        let mutation = Mutation(action, in: People.conversation, by: user)
        do {
            let changes = try mutation.judge(
                conversation: conversation, target: target, by: judge)
            return changes ? .changes : .isDone
        } catch {
            return .refused(error)
        }
    }

    private func stage(_ scene: Scene) throws -> (Conversation?, Document?) {
        guard scene != .nothing else { return (nil, nil) }
        let conversation = Conversation.among()
        var author = Author(1)
        let sent = author.apply(.send("hello"), by: People.alice, to: nil)
        let edit = { (number: UInt64, text: String, document: Document) in
            author.apply(.edit(text), by: People.alice, to: document)
        }
        switch scene {
        case .nothing, .conversation: return (conversation, nil)
        case .abandoned:
            let empty = try conversation.changed {
                for user in People.all { $0.remove(user, by: People.stamp(901, at: 1)) }
            }
            return (empty, sent)
        case .message: return (conversation, sent)
        case .edited: return (conversation, edit(0, "edited", sent))
        case .full:
            return (conversation, (0..<100).reduce(sent) { edit($1, "text \($1)", $0) })
        case .hiddenBySender: return (conversation, author.apply(.hide, by: People.alice, to: sent))
        case .hiddenByBob: return (conversation, author.apply(.hide, by: People.bob, to: sent))
        case .hiddenByAll:
            let all = People.all.reduce(sent) { author.apply(.hide, by: $1, to: $0) }
            return (conversation, all)
        case .retracted: return (conversation, author.apply(.retract, by: People.alice, to: sent))
        case .pinned: return (conversation, author.apply(.pin, by: People.bob, to: sent))
        }
    }
}
