import Chat
import StorePort
import Testing
import Wire

@testable import Node
@testable import Replication

@Suite struct DiskPressureTests {
    private let size: UInt64 = 1 << 30
    private let minimum = DiskPressure.minimumBytesMax

    private func space(
        _ free: UInt64, of total: UInt64? = nil, log: UInt64 = 0, isReserved: Bool = true
    ) -> DiskSpace {
        DiskSpace(
            freeBytes: free, totalBytes: total ?? size, logBytes: log, isReserved: isReserved)
    }

    @Test func `below the floor only deletions are taken, until there is a quarter more`() {
        var pressure = DiskPressure()
        _ = pressure.onSpaceMeasured(space(minimum), now: 0)
        #expect(!pressure.isLow)
        _ = pressure.onSpaceMeasured(space(minimum - 1), now: 1)
        #expect(pressure.isLow)
        _ = pressure.onSpaceMeasured(space(minimum + minimum / 4 - 1), now: 2)
        #expect(pressure.isLow, "who is at the edge does not flap")
        _ = pressure.onSpaceMeasured(space(minimum + minimum / 4), now: 3)
        #expect(!pressure.isLow)
    }

    @Test func `the floor of a small disk is a sixteenth of it`() {
        var pressure = DiskPressure()
        _ = pressure.onSpaceMeasured(space(1 << 20, of: 16 << 20), now: 0)
        #expect(!pressure.isLow)
        _ = pressure.onSpaceMeasured(space((1 << 20) - 1, of: 16 << 20), now: 0)
        #expect(pressure.isLow)
    }

    @Test func `a reserve that was given up is taken again once there is room for it`() {
        var pressure = DiskPressure()
        #expect(pressure.onSpaceMeasured(space(2 * minimum - 1, isReserved: false), now: 0) == [])
        #expect(pressure.isLow)
        #expect(
            pressure.onSpaceMeasured(space(2 * minimum, isReserved: false), now: 1) == [
                .makeReserve
            ])
        #expect(!pressure.isLow, "so much is enough without one")
        #expect(
            pressure.onSpaceMeasured(space(2 * minimum, isReserved: false), now: 2) == [],
            "not at once")
        #expect(
            pressure.onSpaceMeasured(
                space(2 * minimum, isReserved: false), now: 1 + DiskPressure.reserveMilliseconds)
                == [.makeReserve])
    }

    @Test func `the log is folded while there is room for what is in it`() {
        var pressure = DiskPressure()
        #expect(pressure.onSpaceMeasured(space(minimum + 200, log: 100), now: 0) == [])
        #expect(pressure.onSpaceMeasured(space(minimum + 199, log: 100), now: 1) == [.emptyLog])
        #expect(!pressure.isLow)
        #expect(
            pressure.onSpaceMeasured(space(minimum + 101, log: 100), now: 2) == [],
            "it is under way")
        #expect(!pressure.isLow)
        pressure.onLogEmptied()
        #expect(pressure.onSpaceMeasured(space(minimum + 99, log: 100), now: 3) == [.emptyLog])
        #expect(pressure.isLow)
    }
}

@Suite struct FullDiskTests {
    private let full = DiskSpace(
        freeBytes: 0, totalBytes: 1 << 30, logBytes: 0, isReserved: true)
    private let roomy = DiskSpace(
        freeBytes: 1 << 29, totalBytes: 1 << 30, logBytes: 0, isReserved: true)
    private let refusal = ReplyResult.answered(.failed(.store(.full)), nil)

    private func delete(_ message: String, for everyone: Bool) -> Mutation {
        let id = MessageID(checked: message)
        let action: any MessageAction = everyone ? RetractMessage() : HideMessage()
        return Mutation(action, of: id, in: lobby, by: UserID(checked: "alice"))
    }

    @Test func `a full disk takes deletions and nothing else, until there is room`() throws {
        let world = NodeWorld()
        let node = world.add("n1", shards: 1)
        world.run(milliseconds: 500)
        node.handle(create(), number: 1)
        for number in 2...3 { node.handle(send("m\(number)"), number: UInt64(number)) }
        world.run(milliseconds: 100)
        node.store.diskSpace = full
        world.run(milliseconds: 100)
        #expect(node.run { $0.report().isDiskFull })
        #expect(node.run { $0.metrics().isDiskFull && $0.metrics().isRefusingWrites })
        node.handle(send("m4"), number: 4)
        node.handle(delete("m2", for: true), number: 5)
        node.handle(delete("m3", for: false), number: 6)
        world.run(milliseconds: 100)
        #expect(node.sink.outcomes[4] == refusal)
        #expect(
            node.sink.outcomes[5] == .stored(Stored(on: 1, owners: 1, isEnough: true)))
        #expect(
            node.sink.outcomes[6] == .stored(Stored(on: 1, owners: 1, isEnough: true)))
        #expect(node.store.isUrgent)
        node.store.diskSpace = roomy
        world.run(milliseconds: 100)
        node.handle(send("m4"), number: 7)
        world.run(milliseconds: 100)
        #expect(
            node.sink.outcomes[7] == .stored(Stored(on: 1, owners: 1, isEnough: true)))
        #expect(!node.store.isUrgent)
    }

    @Test func `what others accept waits for room, and what they delete does not`() throws {
        let world = NodeWorld()
        let first = world.add("n1", shards: 1)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 2_000)
        #expect(first.submit(create(), number: 1))
        #expect(first.submit(send("m1"), number: 2))
        world.run(milliseconds: 500)
        second.store.diskSpace = full
        world.run(milliseconds: 100)
        #expect(first.submit(send("m2"), number: 3))
        world.endTurn(of: first)
        #expect(first.submit(delete("m1", for: true), number: 4))
        world.run(milliseconds: 2_000)
        let stored = second.stored(of: 0)
        #expect(stored[.message(MessageID(checked: "m2"), in: lobby)] == nil)
        let deleted = DocumentKey.message(MessageID(checked: "m1"), in: lobby)
        #expect(stored[deleted] == first.stored(of: 0)[deleted])
        #expect(first.digest != second.digest)
        second.store.diskSpace = roomy
        world.run(milliseconds: 3_000)
        #expect(first.digest == second.digest)
        #expect(first.isConverged && second.isConverged)
    }
}
