import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct BlocksTests {
    static let key = DocumentKey.blocks(People.alice)

    private static let laws = DocumentTests.laws(of: key) { document, writer, random in
        let other = random.pick([People.bob, People.carol])
        let action: any BlocksAction = random.chance(60) ? BlockUser(other) : UnblockUser(other)
        if let document { writer.observe(document.greatestTime) }
        return Mutation(action, by: People.alice)
            .applied(to: document, by: writer.nextAuthorship())
    }

    @Test func `blocks merge as a join, any order gives the same bytes`() throws {
        try BlocksTests.laws.check(seeds: 0..<800)
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try BlocksTests.laws.golden("blocks") == nil)
    }

    private func since(_ document: Document) -> HybridTimestamp? {
        document.blocks?.views.first { $0.user == People.bob }?.since
    }

    @Test func `a block wins over a concurrent unblocking, and is as old as its first`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 1_000_500))
        let first = one.apply(BlockUser(People.bob), to: nil)
        let start = try #require(since(first))
        let again = one.apply(BlockUser(People.bob), to: first)
        let unblocked = other.apply(UnblockUser(People.bob), to: first)
        #expect(unblocked.blocks?.contains(People.bob) == false)
        #expect(first.merged(with: unblocked).blocks?.contains(People.bob) == false)
        for merged in [again.merged(with: unblocked), unblocked.merged(with: again)] {
            #expect(merged.blocks?.contains(People.bob) == true)
            #expect(since(merged) == start)
        }
    }

    @Test func `of two first blocks the earlier counts, and a later block begins anew`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 1_000_500))
        let (early, late) = (
            one.apply(BlockUser(People.bob), to: nil), other.apply(BlockUser(People.bob), to: nil)
        )
        #expect(since(early.merged(with: late)) == since(early))
        #expect(since(late.merged(with: early)) == since(early))
        let unblocked = other.apply(UnblockUser(People.bob), to: late.merged(with: early))
        let anew = other.apply(BlockUser(People.bob), to: unblocked)
        let begun = try #require(since(anew))
        #expect(since(late).map { $0 < begun } == true)
        #expect(since(anew.merged(with: early)) == begun)
        #expect(since(early.merged(with: anew)) == begun)
    }

    @Test func `a block that is executed late does not undo the unblocking that named it`() {
        var (one, other) = (Author(1), Author(2))
        let late = one.writer.nextStamp()
        let unblocking = one.writer.nextStamp()
        let named = [ProcessCounter(process: late.process, counter: late.counter)]
        let unblocked = other.apply(
            UnblockUser(People.bob), to: nil, as: unblocking, after: named)
        let action = BlockUser(People.bob)
        let mutation = Mutation(action, by: People.alice)
        #expect(mutation.standing(of: late, in: unblocked) == .done)
        let elsewhere = one.apply(action, to: nil, as: late)
        #expect(unblocked.merged(with: elsewhere).blocks?.contains(People.bob) == false)
        #expect(elsewhere.merged(with: unblocked).blocks?.contains(People.bob) == false)
    }

    @Test func `the number of blocked users is limited, and unblocking makes room`() throws {
        var author = Author(1)
        var document: Document?
        let judge = Judge(wallMilliseconds: 0, editWindowMilliseconds: 0)
        func judged(_ action: any BlocksAction) throws(Refusal) -> Bool {
            try Mutation(action, by: People.alice)
                .judge(conversation: nil, target: document, by: judge)
        }
        func user(_ number: Int) -> UserID { UserID(checked: "u\(number)") }
        for number in 0..<Blocks.countMax {
            #expect(try judged(BlockUser(user(number))))
            document = author.apply(BlockUser(user(number)), to: document)
        }
        #expect(throws: Refusal.tooManyBlocked) { try judged(BlockUser(user(-1))) }
        #expect(throws: Refusal.userThemselves) { try judged(BlockUser(People.alice)) }
        #expect(try judged(BlockUser(user(0))))
        document = author.apply(UnblockUser(user(0)), to: document)
        #expect(try judged(BlockUser(user(-1))))
        // Names are kept of everybody who was ever blocked, and those are limited, too.
        for number in Blocks.countMax..<Blocks.namesMax {
            document = author.apply(UnblockUser(user(number)), to: document)
        }
        #expect(throws: Refusal.tooManyBlocked) { try judged(BlockUser(user(-1))) }
        #expect(try !judged(UnblockUser(user(-1))))
        #expect(try judged(BlockUser(user(0))))
    }

    @Test func `what is counted of a run is what a user sees without blocked senders`() {
        var random = SplitMix64(seed: 7)
        var certain = 0
        for _ in 0..<300 {
            var (writer, counts, messages) = (Author(1), MessageCounts(), [Document]())
            for number in 0..<(1 + random.below(6)) {
                let id = MessageID(checked: "m\(number)")
                let sender = random.pick(People.all)
                var message = writer.apply(
                    .send(id, type: .text, item: nil, text: "x"), by: sender, to: nil)
                if random.chance(30) {
                    message = writer.apply(
                        .message(id, HideMessage()), by: random.pick(People.all), to: message)
                }
                if random.chance(20) {
                    message = writer.apply(.message(id, RetractMessage()), by: sender, to: message)
                }
                counts.add(message)
                messages.append(message)
            }
            let times = messages.map(\.historyTime)
            let run = CountedRun(
                from: times[0], to: HybridTimestamp(bits: times[times.count - 1].bits + 1), counts)
            var blocks = Author(2, wallMilliseconds: random.pick([1, 1_000_003, 2_000_000]))
            let senders = BlockedSenders(
                of: blocks.apply(BlockUser(People.bob), to: nil).blocks ?? Blocks())
            let unseen = messages.filter { senders.hides($0) }
            if let hidden = senders.hidden(from: People.alice, in: run) {
                certain += 1
                #expect(
                    hidden
                        == unseen.count {
                            $0.message?.isShown(to: People.alice, among: People.participants())
                                ?? false
                        })
            }
            if let hidden = senders.hidden(
                from: People.alice, in: run, countingRetracted: true)
            {
                #expect(
                    hidden
                        == unseen.count {
                            $0.message?.deletedBy.contains(People.alice) == false
                        })
            }
        }
        #expect(certain > 150)
    }

    @Test func `a row of an earlier version counts no senders, so its messages are read`() throws {
        var (writer, blocker) = (Author(1), Author(2, wallMilliseconds: 1))
        let message = writer.apply(
            .send(People.message, type: .text, item: nil, text: "x"), by: People.bob, to: nil)
        var counts = MessageCounts()
        counts.add(message)
        let end = HybridTimestamp(bits: message.historyTime.bits + 1)
        let run = CountedRun(from: message.historyTime, to: end, counts)
        let senders = BlockedSenders(
            of: blocker.apply(BlockUser(People.bob), to: nil).blocks ?? Blocks())
        #expect(senders.hidden(from: People.alice, in: run) == 1)
        #expect(try CountedRun.decode(run.encoded) == run)
        // Two numbers for the one user in it follow what there was before.
        var earlier = try CountedRun.decode(Array(run.encoded.dropLast(2)))
        #expect(senders.hidden(from: People.alice, in: earlier) == nil)
        #expect(earlier.counts.unread(of: People.alice) == 1)
        earlier.counts.add(message)
        let later = try CountedRun.decode(earlier.encoded)
        #expect(later == earlier && senders.hidden(from: People.alice, in: later) == nil)
    }
}

extension Author {
    mutating func apply(
        _ action: any BlocksAction, to target: Document?, as operation: Stamp? = nil,
        after unsettled: [ProcessCounter] = []
    ) -> Document {
        if let target { writer.observe(target.greatestTime) }
        let author = Authorship(
            dot: writer.nextDot(), stamp: operation ?? writer.nextStamp(), unsettled: unsettled)
        return Mutation(action, by: People.alice).applied(to: target, by: author)
    }
}
