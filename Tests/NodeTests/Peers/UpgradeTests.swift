import CRDT
import Chat
import Testing
import Wire

@testable import Node
@testable import Replication

/// This build in a cluster with nodes of a later version.
@Suite struct UpgradeTests {
    /// Returns what a later version would send: its own kinds of frames between the others, and
    /// more bytes after the values of each.
    private static func later(_ bytes: [UInt8]) -> [UInt8] {
        var cutter = EnvelopeCutter()
        bytes.withUnsafeBytes { cutter.append($0) }
        var writer = ByteWriter()
        while let payload = try? cutter.next() {
            for unknown in [[1, 200, 1, 2], [2, 4, 4], [1, 4, 200], [1, 3, 0, 200]] as [[UInt8]] {
                writer.writeEnvelope { $0.write(raw: unknown) }
            }
            writer.writeEnvelope {
                $0.write(raw: payload)
                $0.write(raw: [9, 9, 9] as [UInt8])
            }
        }
        return writer.bytes
    }

    private static let laterVersions = PeerVersions(wire: 1...4, document: 2)
    private static let earlierVersions = PeerVersions(wire: 1...1, document: 1)

    /// Returns what an earlier version sends, which is to hold none of the later kinds of frames.
    private static func earlier(_ bytes: [UInt8]) -> [UInt8] {
        var cutter = EnvelopeCutter()
        bytes.withUnsafeBytes { cutter.append($0) }
        while let payload = try? cutter.next() {
            switch try? PeerFrame.decode(payload) {
            case .replication(.inquiry), .replication(.report), .replication(.check):
                Issue.record("a later frame")
            default: break
            }
        }
        return bytes
    }

    @Test func `node by node under load to a later version and back, nothing is lost or repeated`()
        throws
    {
        let world = NodeWorld()
        let names = ["n1", "n2", "n3"]
        world.add("n1")
        world.run(milliseconds: 100)
        for name in ["n2", "n3"] { world.add(name, join: ["n1"], shards: nil) }
        world.run(milliseconds: 1_000)
        _ = world.nodes["n1"]?.submit(create(), number: 1)
        world.run(milliseconds: 1_000)
        var number: UInt64 = 1
        func load() {
            for name in names {
                guard let node = world.nodes[name] else { continue }
                number += 1
                #expect(
                    node.submit(send("m\(number)"), number: number, level: .majority))
            }
            world.run(milliseconds: 500)
        }
        load()
        // As if this build came after a first version, and before a third.
        for versions in [Self.earlierVersions, .current, Self.laterVersions, .current] {
            let isLater = versions == Self.laterVersions
            for name in names {
                let store = try #require(world.nodes[name]?.store)
                world.kill(name)
                load()
                // A later version writes more bytes after a header's values, under its own number.
                if isLater { store.headerTail = [7, 7] }
                world.encoders[name] = nil
                if isLater { world.encoders[name] = { UpgradeTests.later($0) } }
                if versions == Self.earlierVersions {
                    world.encoders[name] = { UpgradeTests.earlier($0) }
                }
                world.add(
                    name, join: names.filter { $0 != name }, store: store, shards: nil,
                    versions: versions)
                world.run(milliseconds: 2_000)
                load()
            }
        }
        world.run(milliseconds: 3_000)
        let nodes = names.compactMap { world.nodes[$0] }
        for node in nodes {
            #expect(
                node.digest == nodes[0].digest
                    && node.isConverged && node.living == 3)
            let bad = node.host.lines.filter {
                $0.contains("refused") || $0.contains("closed") || $0.contains("defect")
            }
            #expect(bad.isEmpty)
            let messages = node.store.documents.values.reduce(0) { sum, documents in
                sum + documents.keys.count { $0.kind == .message }
            }
            #expect(messages == Int(number) - 1)
        }
    }

    @Test func `who has no version of the wire in common is told so, and is no member`() {
        let world = NodeWorld()
        let first = world.add("n1")
        world.run(milliseconds: 100)
        let far = PeerVersions(wire: 5...6, document: 1)
        let second = world.add("n2", join: ["n1"], shards: nil, versions: far)
        world.run(milliseconds: 3_000)
        #expect(first.members == ["n1"] && second.held.isEmpty)
        for node in [first, second] {
            let lines = node.host.lines.filter {
                $0.contains("no version of the wire in common")
            }
            #expect(lines.count == 1)
        }
    }

    @Test func `a request that only a later version knows is answered as unsupported`() throws {
        var writer = ByteWriter()
        for number in [5, 0, 1 << 40] as [UInt64] { writer.write(varint: number) }
        for byte in [77, 1, 2, 3] as [UInt8] { writer.write(byte) }
        let ask = try PeerRequest.decode(writer.bytes.dropLast(3))
        #expect(ask.request == .unknown && ask.number == 5)
        #expect(try PeerResponse.decode([1, 0, 99]).outcome == .failed(.unsupported))
        let world = NodeWorld()
        let first = world.add("n1")
        world.run(milliseconds: 100)
        world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 1_000)
        let link = try #require(first.run { $0.links[NodeName(checked: "n2")]?.channel.id })
        let channel = try #require(world.channels.first { $0.id == link })
        var frame = ByteWriter()
        frame.writeEnvelope {
            $0.write(raw: [1, 5] as [UInt8])
            $0.write(raw: writer.bytes)
        }
        let before = channel.other?.inbox.count ?? 0
        world.receive(frame.bytes, on: channel)
        let sent = channel.other?.inbox.dropFirst(before).flatMap { $0 } ?? []
        var cutter = EnvelopeCutter()
        sent.withUnsafeBytes { cutter.append($0) }
        var told: [PeerResponse] = []
        while let payload = try cutter.next() {
            if case .response(let answer) = try PeerFrame.read(payload) { told.append(answer) }
        }
        #expect(told.contains { $0.number == 5 && $0.outcome == .failed(.unsupported) })
        #expect(first.run { $0.links[NodeName(checked: "n2")]?.channel.id } == link)
    }

    @Test func `a document of a later version is stored, sent on, shown and changed`() throws {
        let world = NodeWorld()
        let first = world.add("n1")
        world.run(milliseconds: 100)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 1_000)
        _ = first.submit(create(), number: 1)
        world.run(milliseconds: 1_000)
        let process = RandomID(high: 77, low: 1)
        let author = Authorship(
            dot: Dot(replica: process, seq: 1),
            stamp: Stamp(
                time: HybridTimestamp(milliseconds: 1_000_000), process: process, counter: 1))
        var bytes = send("m9", text: "from later").applied(to: nil, by: author).encoded
        bytes[0] = 2
        let key = DocumentKey.message(MessageID(checked: "m9"), in: lobby)
        let shard = ShardID(of: lobby.text, count: 2)
        let link = try #require(first.run { $0.links[NodeName(checked: "n2")]?.channel.id })
        let channel = try #require(world.channels.first { $0.id == link })
        var frame = ByteWriter()
        frame.writeEnvelope {
            PeerFrame.replication(
                .push(shard, [EncodedDocument(key: key.encoded, bytes: bytes)], cause: Vector())
            ).encode(into: &$0)
        }
        world.receive(frame.bytes, on: channel)
        world.run(milliseconds: 2_000)
        for node in [first, second] {
            #expect(node.stored(of: shard.number)[key] == bytes)
            #expect(node.isConverged)
        }
        #expect(
            second.submit(
                Mutation(HideMessage(), of: MessageID(checked: "m9"), in: lobby, by: alice),
                number: 2
            ))
        world.run(milliseconds: 2_000)
        #expect(first.digest == second.digest)
        let store = first.store
        world.kill("n1")
        let again = world.add("n1", join: ["n2"], store: store, shards: nil)
        world.run(milliseconds: 2_000)
        #expect(again.digest == second.digest && again.isConverged)
        let kept = try #require(again.stored(of: shard.number)[key])
        #expect(kept != bytes && String(describing: kept).contains("2, 1, 0, 0, 0, 0, 0, 0, 0, 77"))
    }
}
