import CRDT
import Chat
import TestKit
import Testing
import Wire

@testable import Node
@testable import Replication

@Suite struct ShardScanTests {
    @Test(arguments: UInt64(1)...5)
    func `what is sent during a scan is told once, by the next one`(seed: UInt64) throws {
        var driven = Driven(seed: seed)
        driven.machine.onPeerUp(NodeName(checked: "n2"))
        driven.store.changesBytesMax = 1
        _ = try driven.told(try ShardMachineTests.conversation(of: 3))
        // A scan reads the changes of replicas that its target names.
        driven.submit(send("m0"))
        driven.settle()
        driven.machine.dropAddressedEvents()
        let target = driven.machine.feedPosition
        var told: [String] = []
        var place: FeedScan.Place? = .changes(after: nil)
        while let at = place {
            let batch = try driven.machine.addressedEvents(
                beyond: Vector(), skipping: Vector(), upTo: target, at: at, for: nil,
                to: { $0 == alice }, in: driven.world)
            if told.isEmpty {
                driven.submit(send("m4"))
                driven.settle()
                driven.machine.dropAddressedEvents()
            }
            told += batch.told.map(\.event.kind.shortName)
            place = batch.next
        }
        #expect(told.count { $0 == "message" } == 4)
        #expect(try driven.read(beyond: target).flatMap(\.self) == ["message"])
    }

    @Test(arguments: UInt64(1)...8)
    func `a step of a scan is no further than its batch, whatever is changed meanwhile`(
        seed: UInt64
    ) throws {
        var driven = Driven(seed: seed)
        driven.machine.onPeerUp(NodeName(checked: "n2"))
        driven.store.changesBytesMax = 1
        _ = try driven.told(try ShardMachineTests.conversation(of: 3))
        for number in 4...6 { driven.submit(send("m\(number)")) }
        driven.settle()
        driven.machine.dropAddressedEvents()
        let target = driven.machine.feedPosition
        var place: FeedScan.Place? = .changes(after: nil)
        var batches = 0
        while let at = place {
            let batch = try driven.machine.addressedEvents(
                beyond: Vector(), skipping: Vector(), upTo: target, at: at, for: nil,
                to: { $0 == alice }, in: driven.world)
            if case .changes(let end?)? = batch.next {
                #expect(batch.steps.allSatisfy { $0.change <= end })
            }
            // They are now found under changes beyond the target.
            if batches == 0 {
                for number in 1...6 {
                    let id = MessageID(checked: "m\(number)")
                    driven.submit(Mutation(PinMessage(), of: id, in: lobby, by: alice))
                }
                driven.settle()
                driven.machine.dropAddressedEvents()
            }
            batches += 1
            place = batch.next
        }
        #expect(batches > 3)
    }
}
