import Testing
import Wire

@testable import Chat
@testable import Gateway

@Suite struct PushedDeviceTests {
    private static let day: UInt64 = 86_400_000

    /// A notification of a message that was sent at a time.
    private func listed(
        _ number: UInt64, sentAt: UInt64 = 0, _ kind: PushedKind = .message, isPushed: Bool = false
    ) -> ListedPush {
        let time = String((sentAt + number) << 16, radix: 16)
        let id = String(repeating: "0", count: 16 - time.count) + time + "-0000000000000000"
        return ListedPush(
            NotificationView(
                id: NotificationID(checked: id), conversation: ConversationID(checked: "c"),
                message: MessageID(checked: "m\(number)"), from: UserID(checked: "alice"),
                text: kind == .message ? "hello" : nil, isPushed: isPushed))
    }

    private func device() -> PushedDevice {
        PushedDevice(token: "t", server: "https://push", registeredAt: 0)
    }

    /// Notes what became of a push; returns whether others may follow at once.
    private func noted(
        _ device: inout PushedDevice, _ push: ListedPush, _ verdict: PushVerdict, began: UInt64,
        now: UInt64
    ) -> Bool { device.onPushed(push, verdict, began: began, now: now) }

    private func keys(_ pushes: [ListedPush]) -> [String] { pushes.map(\.key) }

    @Test func `a status says whether the same notification may be taken later`() {
        let expected: [(Int?, PushVerdict)] = [
            (200, .delivered), (204, .delivered), (400, .refused), (401, .refused),
            (403, .refused), (413, .refused), (408, .failed), (425, .failed), (429, .failed),
            (500, .failed), (503, .failed), (301, .failed), (nil, .failed), (410, .gone),
        ]
        for (status, verdict) in expected {
            #expect(PushVerdict(status: status, isWebhook: false) == verdict, "\(status ?? 0)")
            #expect(PushVerdict(status: status, isWebhook: true) == verdict, "\(status ?? 0)")
        }
        #expect(PushVerdict(status: 404, isWebhook: false) == .gone)
        #expect(PushVerdict(status: 404, isWebhook: true) == .refused)
    }

    @Test func `what is refused is passed over, and never pushed again`() throws {
        var device = device()
        let all = [listed(1), listed(2)]
        #expect(keys(device.due(of: all, now: 0)) == keys(all))
        #expect(noted(&device, all[0], .refused, began: 0, now: 1))
        #expect(noted(&device, all[1], .delivered, began: 1, now: 2))
        device.onListed(all, now: 2)
        #expect(device.due(of: all, now: 10 * PushedDevice.pauseMax).isEmpty)
        device.hasNews = false
        #expect(device.dueAt == nil)
    }

    @Test func `what fails holds back itself alone, with pauses that double`() throws {
        var device = device()
        let bad = listed(1)
        var (now, pauses) = (0 as UInt64, [] as [UInt64])
        for number in UInt64(2)..<14 {
            let good = listed(number)
            device.hasNews = false
            #expect(noted(&device, bad, .failed, began: now, now: now))
            #expect(keys(device.due(of: [bad, good], now: now)) == [good.key])
            #expect(noted(&device, good, .delivered, began: now, now: now))
            device.onListed([bad, good], now: now)
            let next = try #require(device.dueAt)
            pauses.append(next - now)
            now = next
        }
        #expect(pauses.prefix(4) == [1_000, 2_000, 4_000, 8_000])
        #expect(pauses.last == PushedDevice.pauseMax)
    }

    @Test func `what was pushed elsewhere is not pushed again, and its withdrawal is`() throws {
        let device = device()
        let pushed = listed(1, isPushed: true)
        #expect(device.due(of: [pushed], now: 0).isEmpty)
        #expect(device.due(of: [listed(1, .withdrawn)], now: 0).count == 1)
    }

    @Test func `a device that is down is tried one at a time, and with what is newest at once`()
        throws
    {
        var device = device()
        let all = (1...20).map { listed($0) }
        var tries = 0
        for push in device.due(of: all, now: 0) {
            tries += 1
            guard noted(&device, push, .failed, began: 0, now: 0) else { break }
        }
        #expect(tries == 4)
        device.hasNews = false
        device.onListed(all, now: 0)
        #expect(device.dueAt == 1_000)
        // The last one was there before, and is tried in its turn.
        let last = device.due(of: all, now: 10)
        #expect(keys(last) == [all[19].key])
        #expect(!noted(&device, last[0], .failed, began: 10, now: 10))
        #expect(device.due(of: all, now: 20).isEmpty)
        let newest = listed(21)
        #expect(keys(device.due(of: all + [newest], now: 20)) == [newest.key])
        #expect(noted(&device, newest, .delivered, began: 20, now: 20))
        #expect(device.due(of: all + [newest], now: 2_100).count == 20)
    }

    @Test func `a device all of whose pushes fail for a week is given up`() throws {
        let hour: UInt64 = 3_600_000
        for verdict in [PushVerdict.failed, .refused] {
            var device = device()
            let (first, last) = (
                listed(1, sentAt: 9 * PushedDeviceTests.day),
                listed(2, sentAt: 16 * PushedDeviceTests.day - 1_000)
            )
            let week = 16 * PushedDeviceTests.day + 1
            func isGivenUp(_ pushes: [ListedPush], _ now: UInt64, _ wall: UInt64) -> Bool {
                device.isGivenUp(by: pushes, now: now, wallMilliseconds: wall)
            }
            #expect(!isGivenUp([first], hour, week))
            for push in [first, last] {
                #expect(noted(&device, push, verdict, began: 0, now: 0))
            }
            #expect(!isGivenUp([first, last], hour - 1, week))
            #expect(!isGivenUp([first, last], hour, week - 1))
            #expect(isGivenUp([first, last], hour, week))
            // Another node has pushed the last one.
            let told = listed(2, sentAt: 16 * PushedDeviceTests.day - 1_000, isPushed: true)
            #expect(!isGivenUp([first, told], hour, week))
            #expect(noted(&device, last, .delivered, began: 0, now: 0))
            #expect(!isGivenUp([first], hour, week))
        }
        var late = PushedDevice(token: "t", server: "s", registeredAt: 10 * PushedDeviceTests.day)
        let first = listed(1, sentAt: 9 * PushedDeviceTests.day)
        #expect(noted(&late, first, .failed, began: 0, now: 0))
        let week = 16 * PushedDeviceTests.day + 1
        #expect(!late.isGivenUp(by: [first], now: hour, wallMilliseconds: week))
    }

    @Test func `the list keeps its latest, and the first that was not pushed`() throws {
        var device = device()
        let all = (1...30).map { listed($0, isPushed: $0 != 3) }
        let taken = device.takeSurplus(of: all)
        #expect(taken == (all[..<2] + all[3..<14]).map(\.id))
        // The list is the same still: its maker does not know yet.
        let again = device.takeSurplus(of: all)
        #expect(again == nil)
        let none = device.takeSurplus(of: Array(all.suffix(10)))
        #expect(none == [])
    }

    @Test func `sixteen users with slow devices leave places for others`() {
        var slots = PushSlots()
        for user in 0..<16 {
            let holder = PushSlots.Holder(user: "u\(user)", server: "s", isSlow: false)
            while slots.take(for: holder) {}
        }
        let other = PushSlots.Holder(user: "bob", server: "s", isSlow: false)
        let isTaken = slots.take(for: other)
        #expect(isTaken)
        slots.giveBack(of: other)
        #expect(!slots.isEmpty)
    }

    @Test func `however many devices fail, most places are free for others`() {
        var slots = PushSlots()
        var taken: [PushSlots.Holder] = []
        for user in 0..<1_000 {
            let holder = PushSlots.Holder(
                user: "u\(user)", server: "s\(user % 50)", isSlow: true)
            while slots.take(for: holder) { taken.append(holder) }
        }
        #expect(taken.count == PushSlots.slowBounds.all)
        var others = 0
        while slots.take(
            for: PushSlots.Holder(user: "v\(others)", server: "t\(others % 2)", isSlow: false))
        {
            others += 1
        }
        #expect(others == PushSlots.bounds.all - PushSlots.slowBounds.all)
        for holder in taken { slots.giveBack(of: holder) }
        #expect(!slots.isEmpty)
    }
}
