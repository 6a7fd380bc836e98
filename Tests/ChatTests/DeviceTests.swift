import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct DeviceTests {
    static let id = DeviceID(checked: "phone")
    static let key = DocumentKey.device(id, of: People.alice)

    /// Later than most additions of a device, whose messages count for nothing otherwise.
    private static let start: UInt64 = 1_003_600_000

    static func entry(
        _ replica: UInt64, _ seq: UInt64, of message: String? = nil, at time: UInt64,
        from: UInt64 = 1
    ) -> ListedNotification {
        ListedNotification(
            dot: People.dot(replica, seq), conversation: People.conversation,
            message: MessageID(checked: message ?? "m\(replica)-\(seq)"),
            at: HybridTimestamp(milliseconds: start + time), among: SeqSet(from...(seq + 9)))
    }

    static let actions: [any DeviceAction] = [
        AddDevice(FieldText("t")), RemoveDevice(), RemoveToken(FieldText("t")),
        ViewConversation(nil),
        ViewConversation(People.conversation),
        ListNotifications([], life: nil, since: .zero),
        ListNotifications(
            [entry(1, 3, at: 5), entry(2, 9, at: 6, from: 9)],
            life: Stamp(time: .zero, process: People.replica(3), counter: 1),
            since: HybridTimestamp(milliseconds: 9)),
        AcknowledgeThrough(entry(1, 3, at: 5).place.id),
        AcknowledgeAlone(entry(2, 1, at: 9).place.id),
        NotePushed(entry(1, 3, at: 5).place.id, as: .withdrawn),
        RegisterDevice(FieldText("t"), DeviceRegistration(signIn: signIns[0])),
        RegisterDevice(FieldText("t"), DeviceRegistration(signIn: nil)),
        RemoveSignedOut(signIns[0].id), RemoveSignedOut(nil), LeaseView(People.conversation),
        EndLeasedView(upTo: HybridTimestamp(milliseconds: start)),
    ]

    static let signIns = (1...2).map {
        DeviceSignIn(
            address: AddressID(checked: "a1"), id: SignInID(checked: "s\($0)"),
            began: HybridTimestamp(milliseconds: UInt64($0)))
    }

    private static func action(on device: Device?, _ random: inout SplitMix64) -> any DeviceAction {
        switch random.below(device?.isRegistered == true ? 12 : 1) {
        case 0: return AddDevice(FieldText(random.pick(["t1", "t2", "cafe\u{301}", "caf\u{E9}"])))
        case 1:
            guard random.chance(30) else { return ViewConversation(nil) }
            return random.chance(50) ? RemoveDevice() : RemoveToken(FieldText("t1"))
        case 2...4: return ViewConversation(random.chance(50) ? People.conversation : nil)
        case 5...8:
            let entries = (0...random.below(3)).map { _ in
                let (replica, seq) = (UInt64(random.below(3)), UInt64(1 + random.below(12)))
                let start = UInt64(1 + random.below(Int(seq)))
                // A sending may be shown at the place of an earlier one of its message.
                let time = seq * 2 + replica - UInt64(random.below(2))
                return entry(replica, seq, at: time, from: start)
            }
            return device.map { ListNotifications(entries, foundBy: $0) } ?? RemoveDevice()
        default:
            let listed = device?.listed.map(\.place.id) ?? []
            let id = listed.isEmpty ? NotificationID(checked: "x") : random.pick(listed)
            return random.chance(30) ? AcknowledgeAlone(id) : AcknowledgeThrough(id)
        }
    }

    /// An action that the bytes of earlier builds do not have.
    private static func laterAction(
        on device: Device, _ random: inout SplitMix64
    ) -> any DeviceAction {
        switch random.below(10) {
        case 0:
            let signIn = random.pick(signIns.map(Optional.some) + [nil])
            return RegisterDevice(
                FieldText(random.pick(["t1", "t2"])), DeviceRegistration(signIn: signIn))
        case 1: return LeaseView(People.conversation)
        case 4, 5:
            // Some are a day apart.
            let (replica, seq) = (UInt64(random.below(3)), UInt64(13 + random.below(12)))
            let entry = entry(
                replica, seq, at: seq * 5 * 3_600_000 + UInt64(random.below(2)),
                from: UInt64(1 + random.below(Int(seq))))
            return ListNotifications([entry], foundBy: device)
        case 2: return EndLeasedView(upTo: device.viewings.last?.stamp.time ?? .zero)
        case 3 where random.chance(20):
            return RemoveSignedOut(random.chance(50) ? nil : signIns[0].id)
        default: break
        }
        let id =
            device.listed.isEmpty
            ? NotificationID(checked: "x") : random.pick(device.listed.map(\.place.id))
        return NotePushed(id, as: random.pick([.message, .withdrawn]))
    }

    private static let laws = laws { action(on: $0, &$1) }
    private static let laterLaws = laws { device, random in
        guard let device, device.isRegistered, random.chance(25) else {
            return action(on: device, &random)
        }
        return laterAction(on: device, &random)
    }

    private static func laws(
        _ draw: @escaping @Sendable (Device?, inout SplitMix64) -> any DeviceAction
    ) -> Laws<Document> {
        DocumentTests.laws(of: key) { document, writer, random in
            let mutation = Mutation(draw(document?.device, &random), on: id, by: People.alice)
            var author = Author(0)
            author.writer = writer
            defer { writer = author.writer }
            return author.judged(mutation, document)
        }
    }

    @Test func `who takes a message off takes off all of its sendings, and no other message`() {
        var author = Author(0)
        let (first, other, second) = (
            DeviceTests.entry(7, 3, of: "m", at: 5, from: 3),
            DeviceTests.entry(8, 3, of: "n", at: 7, from: 3),
            DeviceTests.entry(9, 3, of: "m", at: 9, from: 3)
        )
        var device = author.device(AddDevice(FieldText("t")), nil)
        device = author.list([first, other, second], device)
        device = author.device(AcknowledgeThrough(first.place.id), device)
        #expect(device.device?.listed == [other])
        #expect(device.device?.acknowledged.contains(second.dot, sentAt: second.place.time) == true)
    }

    @Test func `a device merges as a join, any order gives the same bytes`() throws {
        try DeviceTests.laws.check(seeds: 0..<1_000)
        try DeviceTests.laterLaws.check(seeds: 0..<2_000)
    }

    @Test func `a field that this version does not know is kept`() throws {
        var author = Author(1)
        let device = author.device(AddDevice(FieldText("t")), nil)
        var envelope = try Envelope(device.encoded)
        envelope.fields.set(99, toBytes: [1, 2, 3])
        let later = try Document(DeviceTests.key, decoding: envelope.bytes)
        #expect(later.encoded == envelope.bytes)
        let changed = author.device(ViewConversation(People.conversation), later).merged(
            with: device)
        #expect(changed.encoded.suffix(3) == [1, 2, 3])
    }

    @Test func `damaged bytes never trap, and what is read is canonical`() throws {
        let good = try DeviceTests.laterLaws.states(seeds: 0..<20).map(\.encoded)
        var random = SplitMix64(seed: 5)
        var accepted = 0
        for round in 0..<20_000 {
            var bytes = good[round % good.count]
            bytes[random.below(bytes.count)] = UInt8(random.below(256))
            guard let read = try? Document(DeviceTests.key, decoding: bytes) else { continue }
            try #require(read.encoded == bytes)
            accepted += 1
        }
        #expect(accepted > 100)
    }

    @Test func `a token that is replaced keeps the day on which the device was added`() throws {
        var author = Author(1)
        let first = author.device(AddDevice(FieldText("t1")), nil)
        let second = author.device(AddDevice(FieldText("t2")), first)
        #expect(second.device?.token == "t2")
        #expect(second.device?.added == first.device?.added)
        let same = Mutation(AddDevice(FieldText("t2")), on: DeviceTests.id, by: People.alice)
        #expect(try !author.isChange(same, second))
    }

    @Test func `a removed device is not found, and one added again begins with nothing`() throws {
        var author = Author(1)
        var device = author.device(AddDevice(FieldText("t")), nil)
        device = author.device(ViewConversation(People.conversation), device)
        device = author.list([DeviceTests.entry(7, 3, at: 5)], device)
        let removed = author.device(RemoveDevice(), device)
        #expect(removed.indexKeys.isEmpty && device.indexKeys == [Term.registered])
        #expect(removed.device?.isRegistered == false && removed.device?.token == nil)
        let token = FieldText("t")
        let others: [any DeviceAction] =
            [AddDevice(token), RemoveDevice(), RemoveToken(token), RemoveSignedOut(nil)]
            + [RemoveSignedOut(DeviceTests.signIns[0].id)]
            + [nil, DeviceTests.signIns[0]].map {
                RegisterDevice(token, DeviceRegistration(signIn: $0))
            }
        for action in DeviceTests.actions
        where !others.contains(where: { $0.isEqual(to: action) }) {
            let mutation = Mutation(action, on: DeviceTests.id, by: People.alice)
            #expect(throws: Refusal.deviceNotFound) { try author.isChange(mutation, removed) }
            #expect(throws: Refusal.deviceNotFound) { try author.isChange(mutation, nil) }
        }
        let remove = Mutation(RemoveDevice(), on: DeviceTests.id, by: People.alice)
        #expect(try !author.isChange(remove, removed))
        for (token, isPresent) in [("t", true), ("other", false)] {
            let remove = Mutation(
                RemoveToken(FieldText(token)), on: DeviceTests.id, by: People.alice)
            #expect(try author.isChange(remove, device) == isPresent)
            #expect(try !author.isChange(remove, removed))
        }
        let again = try #require(author.device(AddDevice(FieldText("t")), removed).device)
        #expect(again.listed.isEmpty && again.viewed == nil && again.acknowledged.isEmpty)
        #expect(again.added != device.device?.added)
    }

    @Test func `a removal wins over what did not know of it, and not over what did`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let added = one.device(AddDevice(FieldText("t1")), nil)
        let removed = one.device(RemoveDevice(), added)
        let later = other.device(AddDevice(FieldText("t2")), added)
        #expect(removed.merged(with: later).device?.isRegistered == false)
        let again = other.device(AddDevice(FieldText("t3")), removed)
        #expect(again.merged(with: later).merged(with: removed).device?.token == "t3")
    }

    @Test func `of two additions on two sides of a cut the earlier counts`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let (early, late) = (
            one.device(AddDevice(FieldText("t1")), nil),
            other.device(AddDevice(FieldText("t2")), nil)
        )
        let both = early.merged(with: late)
        #expect(both.device?.added == early.device?.added && both.device?.token == "t2")
    }

    @Test func `what is taken off stays off, with all that was listed before it`() throws {
        var author = Author(1)
        var device = author.device(AddDevice(FieldText("t")), nil)
        let entries = [
            DeviceTests.entry(7, 3, at: 5), DeviceTests.entry(8, 1, at: 6),
            DeviceTests.entry(7, 9, at: 8),
        ]
        device = author.list(entries, device)
        let listed = device
        device = author.device(AcknowledgeThrough(entries[1].place.id), device)
        #expect(device.device?.listed == [entries[2]])
        #expect(device.device?.latestAcknowledged == entries[1].place.time)
        let acknowledge = Mutation(
            AcknowledgeThrough(entries[1].place.id), on: DeviceTests.id, by: People.alice)
        #expect(try !author.isChange(acknowledge, device))
        #expect(device.merged(with: listed) == listed.merged(with: device))
        #expect(device.merged(with: listed).device?.listed == [entries[2]])
        let state = try #require(device.device)
        let list = Mutation(
            ListNotifications(entries, foundBy: state), on: DeviceTests.id, by: People.alice)
        #expect(try !author.isChange(list, device))
    }

    @Test func `what is taken off alone leaves all others, but for what is a day before it`() {
        var author = Author(1, wallMilliseconds: 1)
        let day = NotificationRule.latenessMilliseconds
        let entries = [
            DeviceTests.entry(8, 1, at: 5), DeviceTests.entry(7, 3, at: day + 4),
            DeviceTests.entry(7, 9, at: day + 5), DeviceTests.entry(7, 12, at: day + 6),
        ]
        var device = author.list(entries, author.device(AddDevice(FieldText("t")), nil))
        device = author.device(AcknowledgeAlone(entries[1].place.id), device)
        #expect(device.device?.listed == [entries[2], entries[3], entries[0]])
        #expect(device.device?.acknowledgedRanges == [[1...3]])
        device = author.device(AcknowledgeAlone(entries[3].place.id), device)
        #expect(device.device?.listed == [entries[2]])
        #expect(device.device?.acknowledgedRanges == [[1...8, 10...12]])
    }

    /// An operation that reached its executing node late has a later seq than messages that were
    /// sent after it.
    @Test func `what is listed behind is not taken off, whatever its seq`() {
        var author = Author(1)
        let entries = [DeviceTests.entry(7, 9, at: 5), DeviceTests.entry(7, 3, at: 8)]
        var device = author.device(AddDevice(FieldText("t")), nil)
        device = author.list(entries, device)
        device = author.device(AcknowledgeThrough(entries[0].place.id), device)
        #expect(device.device?.listed == [entries[1]])
        device = author.device(AcknowledgeThrough(entries[1].place.id), device)
        #expect(device.device?.listed == [])
        #expect(device.device?.acknowledgedRanges == [[1...9]])
    }

    @Test func `what was considered is one range, however much is taken off`() throws {
        var author = Author(1)
        var device = author.device(AddDevice(FieldText("t")), nil)
        for seq in stride(from: UInt64(2), to: 200, by: 7) {
            let entry = DeviceTests.entry(7, seq, at: seq)
            device = author.list([entry], device)
            device = author.device(AcknowledgeThrough(entry.place.id), device)
        }
        #expect(device.device?.acknowledgedRanges == [[1...198]])
    }

    /// A side of a cut that did not know the earlier addition has passed over what was sent before
    /// the later one.
    @Test func `what was sent between two additions is passed over by neither`() throws {
        let start = DeviceTests.start
        var (one, other) = (Author(1), Author(2, wallMilliseconds: start + 5))
        let early = one.device(AddDevice(FieldText("t")), nil)
        let (between, after) = (DeviceTests.entry(7, 3, at: 4), DeviceTests.entry(7, 9, at: 8))
        let late = other.list([after], other.device(AddDevice(FieldText("t")), nil))
        let done = other.device(AcknowledgeThrough(after.place.id), late)
        let acknowledged = try #require(early.merged(with: done).device?.acknowledged)
        #expect(acknowledged.contains(after.dot, sentAt: after.place.time))
        #expect(!acknowledged.contains(between.dot, sentAt: between.place.time))

        // The later entry is on the list still when the sides meet, or the list is made then.
        let joined = early.merged(with: late)
        let found = one.device(
            ListNotifications([after], foundBy: try #require(late.device)), early)
        for met in [joined, late.merged(with: early), found] {
            let device = one.device(AcknowledgeThrough(after.place.id), met).device
            let acknowledged = try #require(device?.acknowledged)
            #expect(device?.listed == [])
            #expect(acknowledged.contains(after.dot, sentAt: after.place.time))
            #expect(!acknowledged.contains(between.dot, sentAt: between.place.time))
        }
    }

    /// The list was found where an earlier addition counts, and is recorded by who knows a later
    /// one alone.
    @Test func `what was sent before the addition that is known is taken off as well`() throws {
        let start = DeviceTests.start
        var (one, other) = (Author(1), Author(2, wallMilliseconds: start + 5))
        let early = one.device(AddDevice(FieldText("t")), nil)
        let late = other.device(AddDevice(FieldText("t")), nil)
        let entry = DeviceTests.entry(7, 3, at: 4)
        var device = other.device(
            ListNotifications([entry], foundBy: try #require(early.device)), late)
        #expect(device.device?.listed == [entry.consideringItselfOnly])
        device = other.device(AcknowledgeThrough(entry.place.id), device)
        #expect(device.device?.listed == [])
        #expect(device.merged(with: one.list([entry], early)).device?.listed == [])
    }

    @Test func `what was acknowledged a day before the latest is forgotten, restarts and all`()
        throws
    {
        var author = Author(1)
        var device = author.device(AddDevice(FieldText("t")), nil)
        var (states, bytesMax) = ([device], 0)
        for restart in UInt64(0)..<400 {
            let entry = DeviceTests.entry(100 + restart, 3, at: restart * 3_600_000)
            device = author.list([entry], device)
            device = author.device(AcknowledgeAlone(entry.place.id), device)
            bytesMax = max(bytesMax, device.encoded.count)
            states.append(device)
        }
        #expect(bytesMax < 2_000)
        let content = try #require(device.device)
        #expect(content.listed.isEmpty)
        let day: UInt64 = 24 * 3_600_000
        let rule = try #require(NotificationRule(for: content, of: People.alice))
        for restart in UInt64(0)..<400 {
            let entry = DeviceTests.entry(100 + restart, 3, at: restart * 3_600_000)
            let isLate = entry.place.time <= rule.minimum(in: Conversation.among())
            #expect(isLate || rule.isDone(with: [entry.dot], sentAt: entry.place.time))
            #expect(isLate == (restart * 3_600_000 <= 399 * 3_600_000 - day))
        }
        // Nobody who lags behind brings anything back.
        for state in states {
            #expect(state.merged(with: device) == device && device.merged(with: state) == device)
        }
    }

    @Test func `of too many processes within a day the earliest are forgotten`() throws {
        var author = Author(1)
        var device = author.device(AddDevice(FieldText("t")), nil)
        for process in UInt64(0)..<600 {
            let entry = DeviceTests.entry(1_000 + process, 3, at: process * 1_000)
            device = author.list([entry], device)
            device = author.device(AcknowledgeAlone(entry.place.id), device)
        }
        let content = try #require(device.device)
        let entries = content.acknowledged.parts.reduce(0) { $0 + $1.dots.entries.count }
        #expect(entries <= AcknowledgedNotifications.entriesMax)
        let rule = try #require(NotificationRule(for: content, of: People.alice))
        for process in UInt64(0)..<600 {
            let entry = DeviceTests.entry(1_000 + process, 3, at: process * 1_000)
            #expect(
                entry.place.time <= rule.minimum(in: Conversation.among())
                    || rule.isDone(with: [entry.dot], sentAt: entry.place.time))
        }
    }

    @Test func `what an earlier version has acknowledged counts, and is kept`() throws {
        var author = Author(1)
        let entry = DeviceTests.entry(7, 3, at: 5)
        let added = author.device(AddDevice(FieldText("t")), nil)
        let listed = author.list([entry], added)
        let done = author.device(AcknowledgeThrough(entry.place.id), listed)
        // The field that an earlier version has written instead.
        var envelope = try Envelope(done.encoded)
        let device = try #require(done.device)
        let (dots, rest, _) = device.acknowledged.untimed.split(at: device.added?.time)
        _ = envelope.fields.removeField(12)
        envelope.fields.set(6, toBytes: dots.encoded)
        if !rest.isEmpty { envelope.fields.set(8, toBytes: rest.encoded) }
        let earlier = try Document(DeviceTests.key, decoding: envelope.bytes)
        #expect(earlier.encoded == envelope.bytes)
        #expect(earlier.merged(with: listed).device?.listed == [])
        #expect(earlier.merged(with: done) == done.merged(with: earlier))
        let late = DeviceTests.entry(8, 1, at: 100 * 3_600_000)
        let later = author.device(AcknowledgeThrough(late.place.id), author.list([late], earlier))
        #expect(
            later.merged(with: done).device?.acknowledged.contains(
                entry.dot, sentAt: entry.place.time) == true)
    }

    @Test func `what was pushed stays listed, and a withdrawal comes after the message`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 2_000_000))
        let entry = DeviceTests.entry(7, 3, at: 5)
        let listed = one.list([entry], one.device(AddDevice(FieldText("t")), nil))
        let told = one.device(NotePushed(entry.place.id, as: .message), listed)
        let withdrawn = other.device(NotePushed(entry.place.id, as: .withdrawn), listed)
        #expect(told.merged(with: withdrawn).device?.listed.map(\.pushed) == [.withdrawn])
        for kind in PushedKind.allCases {
            let again = Mutation(
                NotePushed(entry.place.id, as: kind), on: DeviceTests.id, by: People.alice)
            #expect(try !one.isChange(again, withdrawn))
        }
        let message = Mutation(
            NotePushed(entry.place.id, as: .message), on: DeviceTests.id, by: People.alice)
        #expect(try one.isChange(message, listed) && !one.isChange(message, told))
        let done = one.device(AcknowledgeThrough(entry.place.id), told)
        #expect(done.merged(with: withdrawn).device?.listed == [])
    }

    @Test func `what is viewed still is said again, for it may be news elsewhere`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 2_000_000))
        let device = one.device(ViewConversation(nil), one.device(AddDevice(FieldText("t")), nil))
        let viewing = other.device(ViewConversation(People.conversation), device)
        one.writer.wallMilliseconds = 3_000_000
        let still = Mutation(ViewConversation(nil), on: DeviceTests.id, by: People.alice)
        #expect(try one.isChange(still, device))
        let merged = one.device(ViewConversation(nil), device).merged(with: viewing)
        #expect(viewing.device?.viewed == People.conversation && merged.device?.viewed == nil)
    }

    @Test func `a device belongs to the sign-in that registered its token last`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 2_000_000))
        let (first, second) = (DeviceTests.signIns[0], DeviceTests.signIns[1])
        func register(_ signIn: DeviceSignIn?) -> any DeviceAction {
            RegisterDevice(FieldText("t"), DeviceRegistration(signIn: signIn))
        }
        let added = one.device(register(first), nil)
        #expect(added.device?.signIn == first)
        #expect(added.indexKeys == [Term.token("t"), Term.registered])
        let mine = one.device(register(first), added)
        let theirs = other.device(register(second), added)
        #expect(mine.merged(with: theirs).device?.signIn == second)
        // An earlier version replaces the token and does not know of sign-ins.
        let later = other.device(AddDevice(FieldText("t2")), theirs)
        #expect(later.device?.signIn == nil)
        for (signIn, document, isChange) in [
            (first, added, false), (second, added, true), (first, later, true),
        ] {
            let again = Mutation(register(signIn), on: DeviceTests.id, by: People.alice)
            #expect(try one.isChange(again, document) == isChange)
        }
        for (id, isChange) in [(first.id, true), (second.id, false), (nil, true)] {
            let remove = Mutation(
                RemoveSignedOut(id), on: DeviceTests.id, by: People.alice)
            #expect(try one.isChange(remove, added) == isChange)
            #expect(try !one.isChange(remove, later))
        }
    }

    @Test func `a leased viewing ends after ten minutes, unless it is renewed`() throws {
        var author = Author(1)
        let start = author.writer.wallMilliseconds
        var device = author.device(AddDevice(FieldText("t")), nil)
        device = author.device(LeaseView(People.conversation), device)
        author.writer.wallMilliseconds += Viewing.leaseMilliseconds - 1_000
        device = author.device(LeaseView(People.conversation), device)
        func isShown(after milliseconds: UInt64) throws -> Bool {
            let content = try #require(device.device)
            let rule = try #require(NotificationRule(for: content, of: People.alice))
            let time = HybridTimestamp(milliseconds: start + milliseconds)
            let isShown = rule.viewings.shows(People.conversation, at: time)
            #expect((device.device?.viewed(at: time) != nil) == isShown)
            return isShown
        }
        #expect(try isShown(after: Viewing.leaseMilliseconds + 1_000))
        #expect(try isShown(after: 2 * Viewing.leaseMilliseconds - 2_000))
        #expect(try !isShown(after: 2 * Viewing.leaseMilliseconds + 2_000))
        let last = try #require(device.device?.viewings.last?.stamp.time)
        for (bound, isChange) in [(last, true), (HybridTimestamp(bits: last.bits - 1), false)] {
            let end = Mutation(EndLeasedView(upTo: bound), on: DeviceTests.id, by: People.alice)
            #expect(try author.isChange(end, device) == isChange)
        }
        let ended = author.device(EndLeasedView(upTo: last), device)
        #expect(ended.device?.viewed == nil)
        // What an app says over lines stays until it says otherwise.
        device = author.device(ViewConversation(People.conversation), device)
        #expect(try isShown(after: 9 * Viewing.leaseMilliseconds))
        let end = Mutation(
            EndLeasedView(upTo: HybridTimestamp(milliseconds: start * 2)), on: DeviceTests.id,
            by: People.alice)
        #expect(try !author.isChange(end, device))
    }

    @Test func `of many viewings the latest are kept`() throws {
        var author = Author(1)
        var device = author.device(AddDevice(FieldText("t")), nil)
        for number in 0..<(2 * Viewing.countMax) {
            device = author.device(
                ViewConversation(number % 2 == 0 ? People.conversation : nil), device)
        }
        #expect(device.device?.viewings.count == Viewing.countMax)
        #expect(device.device?.viewed == nil)
    }

    @Test func `the order of ids is the order of the list`() {
        let places = (0..<200).map {
            NotificationPlace(
                of: MessageID(checked: "m\($0)"), in: People.conversation,
                at: HybridTimestamp(milliseconds: UInt64($0 * 37 % 50) * 1_000_000_000))
        }
        #expect(places.sorted().map(\.id) == places.map(\.id).sorted())
        #expect(Set(places.map(\.id)).count == places.count)
        #expect(places.allSatisfy { isName($0.id.text.utf8) })
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try DeviceTests.laws.golden("device") == nil)
        #expect(try DeviceTests.laterLaws.golden("device-pushed") == nil)
    }
}

extension Device {
    /// The seqs of one replica that were acknowledged, in each part.
    var acknowledgedRanges: [[ClosedRange<UInt64>]] {
        acknowledged.untimed.parts.map { $0.dots.seqs(of: People.replica(7)).ranges }
    }
}

extension Author {
    mutating func device(_ action: any DeviceAction, _ target: Document?) -> Document {
        apply(Mutation(action, on: DeviceTests.id, by: People.alice), to: target)
    }

    /// Lists entries that were found by what `target` says of the device.
    mutating func list(_ entries: [ListedNotification], _ target: Document) -> Document {
        guard let state = target.device else { return target }
        return device(ListNotifications(entries, foundBy: state), target)
    }

    func isChange(_ mutation: Mutation, _ target: Document?) throws -> Bool {
        let judge = Judge(wallMilliseconds: 0, editWindowMilliseconds: 0)
        return try mutation.judge(conversation: nil, target: target, by: judge)
    }

    /// The document after the mutation, or as it was where a rule forbids it or nothing changes.
    mutating func judged(_ mutation: Mutation, _ target: Document?) -> Document? {
        (try? isChange(mutation, target)) == true ? apply(mutation, to: target) : target
    }
}
