import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct DeviceTests {
    static let id = DeviceID(checked: "phone")
    static let key = DocumentKey.device(id, of: People.alice)

    static func entry(_ replica: UInt64, _ seq: UInt64, at time: UInt64, from: UInt64 = 1)
        -> ListedNotification
    {
        ListedNotification(
            dot: People.dot(replica, seq), conversation: People.conversation,
            message: MessageID(checked: "m\(replica)-\(seq)"),
            at: HybridTimestamp(milliseconds: time), among: SeqSet(from...(seq + 9)))
    }

    static let actions: [Device.Action] = [
        .add(FieldText("t")), .remove, .view(nil), .view(People.conversation),
        .list([], life: nil),
        .list(
            [entry(1, 3, at: 5), entry(2, 9, at: 6, from: 9)],
            life: Stamp(time: .zero, process: People.replica(3), counter: 1)),
        .acknowledge(entry(1, 3, at: 5).place.id),
    ]

    private static func action(on device: Device?, _ random: inout SplitMix64) -> Device.Action {
        switch random.below(device?.isRegistered == true ? 12 : 1) {
        case 0: return .add(FieldText(random.pick(["t1", "t2", "cafe\u{301}", "caf\u{E9}"])))
        case 1: return random.chance(30) ? .remove : .view(nil)
        case 2...4: return .view(random.chance(50) ? People.conversation : nil)
        case 5...8:
            let entries = (0...random.below(3)).map { _ in
                let (replica, seq) = (UInt64(random.below(3)), UInt64(1 + random.below(12)))
                let start = UInt64(1 + random.below(Int(seq)))
                return entry(replica, seq, at: seq * 2 + replica, from: start)
            }
            return .list(entries, life: device?.removed)
        default:
            let listed = device?.listed.map(\.place.id) ?? []
            return .acknowledge(listed.isEmpty ? NotificationID(checked: "x") : random.pick(listed))
        }
    }

    private static let laws = DocumentTests.laws(of: key) { document, writer, random in
        let mutation = Mutation(
            action(on: document?.device, &random), on: id, by: People.alice)
        var author = Author(0)
        author.writer = writer
        defer { writer = author.writer }
        return author.judged(mutation, document)
    }

    @Test func `who takes a message off takes off all of its sendings, and no other message`() {
        var author = Author(0)
        func sending(_ replica: UInt64, _ message: String, at time: UInt64) -> ListedNotification {
            ListedNotification(
                dot: People.dot(replica, 3), conversation: People.conversation,
                message: MessageID(checked: message), at: HybridTimestamp(milliseconds: time),
                among: SeqSet())
        }
        let (first, other, second) = (
            sending(7, "m", at: 5), sending(8, "n", at: 7), sending(9, "m", at: 9)
        )
        var device = author.device(.add(FieldText("t")), nil)
        device = author.device(.list([first, other, second], life: nil), device)
        device = author.device(.acknowledge(first.place.id), device)
        #expect(device.device?.listed == [other])
        #expect(device.device?.acknowledged.contains(second.dot) == true)
    }

    @Test func `a device merges as a join, any order gives the same bytes`() throws {
        try DeviceTests.laws.check(seeds: 0..<2_000)
    }

    @Test func `a field that this version does not know is kept`() throws {
        var author = Author(1)
        let device = author.device(.add(FieldText("t")), nil)
        var envelope = try Envelope(device.encoded)
        envelope.fields.set(99, toBytes: [1, 2, 3])
        let later = try Document(DeviceTests.key, decoding: envelope.bytes)
        #expect(later.encoded == envelope.bytes)
        let changed = author.device(.view(People.conversation), later).merged(with: device)
        #expect(changed.encoded.suffix(3) == [1, 2, 3])
    }

    @Test func `damaged bytes never trap, and what is read is canonical`() throws {
        let good = try DeviceTests.laws.states(seeds: 0..<20).map(\.encoded)
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
        let first = author.device(.add(FieldText("t1")), nil)
        let second = author.device(.add(FieldText("t2")), first)
        #expect(second.device?.token == "t2")
        #expect(second.device?.added == first.device?.added)
        let same = Mutation(.add(FieldText("t2")), on: DeviceTests.id, by: People.alice)
        #expect(try !author.isChange(same, second))
    }

    @Test func `a removed device is not found, and one added again begins with nothing`() throws {
        var author = Author(1)
        var device = author.device(.add(FieldText("t")), nil)
        device = author.device(.view(People.conversation), device)
        device = author.device(.list([DeviceTests.entry(7, 3, at: 5)], life: nil), device)
        let removed = author.device(.remove, device)
        #expect(removed.indexKeys.isEmpty && device.indexKeys == [Term.registered])
        #expect(removed.device?.isRegistered == false && removed.device?.token == nil)
        for action in DeviceTests.actions where action != .remove && action != .add(FieldText("t"))
        {
            let mutation = Mutation(action, on: DeviceTests.id, by: People.alice)
            #expect(throws: Refusal.deviceNotFound) { try author.isChange(mutation, removed) }
            #expect(throws: Refusal.deviceNotFound) { try author.isChange(mutation, nil) }
        }
        let remove = Mutation(.remove, on: DeviceTests.id, by: People.alice)
        #expect(try !author.isChange(remove, removed))
        let again = try #require(author.device(.add(FieldText("t")), removed).device)
        #expect(again.listed.isEmpty && again.viewed == nil && again.acknowledged.isEmpty)
        #expect(again.added != device.device?.added)
    }

    @Test func `a removal wins over what did not know of it, and not over what did`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let added = one.device(.add(FieldText("t1")), nil)
        let removed = one.device(.remove, added)
        let later = other.device(.add(FieldText("t2")), added)
        #expect(removed.merged(with: later).device?.isRegistered == false)
        let again = other.device(.add(FieldText("t3")), removed)
        #expect(again.merged(with: later).merged(with: removed).device?.token == "t3")
    }

    @Test func `of two additions on two sides of a cut the earlier counts`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 9_000_000))
        let (early, late) = (
            one.device(.add(FieldText("t1")), nil), other.device(.add(FieldText("t2")), nil)
        )
        let both = early.merged(with: late)
        #expect(both.device?.added == early.device?.added && both.device?.token == "t2")
    }

    @Test func `what is taken off stays off, with all that was listed before it`() throws {
        var author = Author(1)
        var device = author.device(.add(FieldText("t")), nil)
        let entries = [
            DeviceTests.entry(7, 3, at: 5), DeviceTests.entry(8, 1, at: 6),
            DeviceTests.entry(7, 9, at: 8),
        ]
        device = author.device(.list(entries, life: nil), device)
        let listed = device
        device = author.device(.acknowledge(entries[1].place.id), device)
        #expect(device.device?.listed == [entries[2]])
        #expect(device.device?.latestAcknowledged == entries[1].place.time)
        let acknowledge = Mutation(
            .acknowledge(entries[1].place.id), on: DeviceTests.id, by: People.alice)
        #expect(try !author.isChange(acknowledge, device))
        #expect(device.merged(with: listed) == listed.merged(with: device))
        #expect(device.merged(with: listed).device?.listed == [entries[2]])
        let list = Mutation(.list(entries, life: nil), on: DeviceTests.id, by: People.alice)
        #expect(try !author.isChange(list, device))
    }

    /// An operation that reached its executing node late has a later seq than messages that were
    /// sent after it.
    @Test func `what is listed behind is not taken off, whatever its seq`() {
        var author = Author(1)
        let entries = [DeviceTests.entry(7, 9, at: 5), DeviceTests.entry(7, 3, at: 8)]
        var device = author.device(.add(FieldText("t")), nil)
        device = author.device(.list(entries, life: nil), device)
        device = author.device(.acknowledge(entries[0].place.id), device)
        #expect(device.device?.listed == [entries[1]])
        device = author.device(.acknowledge(entries[1].place.id), device)
        #expect(device.device?.listed == [])
        #expect(device.device?.acknowledged.seqs(of: People.replica(7)).ranges == [1...9])
    }

    @Test func `what was considered is one range, however much is taken off`() throws {
        var author = Author(1)
        var device = author.device(.add(FieldText("t")), nil)
        for seq in stride(from: UInt64(2), to: 200, by: 7) {
            let entry = DeviceTests.entry(7, seq, at: seq)
            device = author.device(.list([entry], life: nil), device)
            device = author.device(.acknowledge(entry.place.id), device)
        }
        #expect(device.device?.acknowledged.seqs(of: People.replica(7)).ranges == [1...198])
    }

    @Test func `what is viewed still is said again, for it may be news elsewhere`() throws {
        var (one, other) = (Author(1), Author(2, wallMilliseconds: 2_000_000))
        let device = one.device(.view(nil), one.device(.add(FieldText("t")), nil))
        let viewing = other.device(.view(People.conversation), device)
        one.writer.wallMilliseconds = 3_000_000
        let still = Mutation(.view(nil), on: DeviceTests.id, by: People.alice)
        #expect(try one.isChange(still, device))
        let merged = one.device(.view(nil), device).merged(with: viewing)
        #expect(viewing.device?.viewed == People.conversation && merged.device?.viewed == nil)
    }

    @Test func `of many viewings the latest are kept`() throws {
        var author = Author(1)
        var device = author.device(.add(FieldText("t")), nil)
        for number in 0..<(2 * Viewing.countMax) {
            device = author.device(.view(number % 2 == 0 ? People.conversation : nil), device)
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
    }
}

extension Author {
    mutating func device(_ action: Device.Action, _ target: Document?) -> Document {
        apply(Mutation(action, on: DeviceTests.id, by: People.alice), to: target)
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
