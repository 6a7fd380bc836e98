import Glibc
import LineProtocol
import Node
import NodeKit
import Placement
import TestKit
import Testing

@testable import Session

/// What exact times promise to a client that keeps a store: answers and events of any nodes, merged
/// in any order by the later time, are what a fresh read shows in the end.
@Suite struct ExactTimesMergeTests {
    /// A client that merges what nodes tell it: of two values of a register the later one holds, of
    /// two with equal times "yes".
    struct Store {
        private(set) var registers: [String: (time: String, value: String)] = [:]

        mutating func merge(_ name: String, _ value: String, at time: String?) {
            guard let time else { return }
            if let known = registers[name], (known.time, known.value) >= (time, value) { return }
            registers[name] = (time, value)
        }
    }

    /// Nodes that are connected or held apart, clients that write at any of them, and a watcher at
    /// each.
    private struct Scene {
        let world = World(replicas: .count(3))
        let nodes: [TestNode]
        let watchers: [TestClient]
        var random: SplitMix64
        /// What nodes have told: writes with their answers, and events.
        var told: [(write: String?, line: String)] = []

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            let second = world.join("n2")
            nodes = [world.n1, second, world.join("n3", dialing: second)]
            world.live(milliseconds: 2_000, nodes[0], nodes[1], nodes[2])
            for line in [
                "CREATE c alice,bob", "SEND c alice id=m hello", "ACTION ADD alice id=i milk",
                "PROFILE alice name=A photo=p",
            ] {
                _ = nodes[0].connect().ask(line)
                world.settle(nodes)
            }
            watchers = nodes.map { $0.connect() }
            for watcher in watchers {
                watcher.say("WATCH alice times=exact")
                world.settle(nodes)
                _ = watcher.heard()
            }
        }

        private mutating func pick<Element>(_ list: [Element]) -> Element {
            list[Int.random(in: list.indices, using: &random)]
        }

        private mutating func nextWrite() -> String {
            let number = Int.random(in: 0..<4, using: &random)
            return pick([
                "PIN c m alice", "UNPIN c m alice", "PIN c m bob", "DELETE c m alice",
                "RESTORE c m alice", "ARCHIVE c alice", "UNARCHIVE c alice",
                "PROFILE alice name=A\(number)", "PROFILE alice photo=p\(number)",
                "ACTION EDIT alice i title=t\(number)", "ACTION EDIT alice i priority=high",
                "ACTION EDIT alice i priority=", "ACTION DONE alice i", "ACTION UNDONE alice i",
                "INVITE c alice carol", "LEAVECHAT c carol",
            ])
        }

        mutating func run(steps: Int) {
            let pairs = [(0, 1), (0, 2), (1, 2)]
            var held: Set<Int> = []
            for _ in 0..<steps {
                let pair = Int.random(in: 0..<6, using: &random)
                if pair < 3 {
                    let isHeld = held.insert(pair).inserted
                    if !isHeld { held.remove(pair) }
                    world.hold(isHeld, between: nodes[pairs[pair].0], and: nodes[pairs[pair].1])
                }
                // Writes of one millisecond at two nodes may have equal times.
                world.clock.advance(milliseconds: 2)
                let write = nextWrite()
                let client = pick(nodes).connect()
                client.say("SET ack=local")
                client.say(write + " times=exact")
                world.settle(nodes, rounds: Int.random(in: 1...6, using: &random))
                for line in client.heard() where line.hasPrefix("OK at=") {
                    told.append((write, line))
                }
                listen()
            }
            for (index, pair) in pairs.enumerated() where held.contains(index) {
                world.hold(false, between: nodes[pair.0], and: nodes[pair.1])
            }
            world.live(milliseconds: 5_000, nodes[0], nodes[1], nodes[2])
            listen()
        }

        private mutating func listen() {
            for watcher in watchers {
                for line in watcher.heard() where line.hasPrefix("EVENT ") {
                    told.append((nil, line))
                }
            }
        }

        /// Returns what a client holds that has merged everything in a random order, some of it
        /// twice.
        mutating func merged() -> Store {
            var store = Store()
            for each in (told + told.prefix(told.count / 2)).shuffled(using: &random) {
                guard let fields = Self.fields(each.line) else { continue }
                if let write = each.write {
                    store.merge(write, at: fields["at"])
                } else {
                    store.merge(event: fields)
                }
            }
            return store
        }

        /// Returns what a fresh read of a node shows.
        func shown(by node: TestNode) -> Store {
            var store = Store()
            let client = node.connect()
            let lines = [
                "HISTORY c alice hidden=true", "CHATS alice show=all", "PROFILE alice",
                "ACTIONS alice",
            ].flatMap { line in
                client.say(line + " times=exact")
                world.settle(nodes)
                return client.heard()
            }
            for fields in lines.compactMap(Self.fields) { store.merge(row: fields) }
            client.say("CHAT c alice")
            world.settle(nodes)
            let participants = client.heard().compactMap(Self.fields).first?.set("participants")
            store.merge("carol", participants?.contains("carol") == true ? "yes" : "no", at: "9")
            return store
        }

        private static func fields(_ line: String) -> ReplyFields? {
            switch ReplyLine(line) {
            case .data(_, let fields), .ok(let fields): fields
            case .error, nil: nil
            }
        }
    }

    @Test(arguments: 0..<40) func `kept seeds`(_ seed: UInt64) { check(seed) }

    @Test func `fresh seeds`() {
        let first = UInt64(time(nil)) * 1_000
        for seed in first..<(first + 40) { check(seed) }
    }

    private func check(_ seed: UInt64) {
        var scene = Scene(seed: seed)
        scene.run(steps: 24)
        let merged = scene.merged()
        for node in scene.nodes {
            let shown = scene.shown(by: node)
            for (name, register) in shown.registers {
                guard let mine = merged.registers[name] else { continue }
                #expect(mine.value == register.value, "seed \(seed): \(name)")
                if register.time != "9" {
                    #expect(mine.time == register.time, "seed \(seed): \(name)")
                }
            }
        }
    }
}

extension ExactTimesMergeTests.Store {
    /// Merges the consequence of a write that a node has accepted.
    mutating func merge(_ write: String, at time: String?) {
        let words = write.split(separator: " ").map(String.init)
        switch (words[0], words.last ?? "") {
        case ("PIN", let user): merge("pin", user, at: time)
        case ("UNPIN", _): merge("pin", "", at: time)
        case ("DELETE", _): merge("hidden", "yes", at: time)
        case ("RESTORE", _): merge("hidden", "no", at: time)
        case ("ARCHIVE", _): merge("archived", "yes", at: time)
        case ("UNARCHIVE", _): merge("archived", "no", at: time)
        case ("INVITE", _): merge("carol", "yes", at: time)
        case ("LEAVECHAT", _): merge("carol", "no", at: time)
        case ("PROFILE", let field),
            ("ACTION", let field) where field.contains("="):
            let parts = field.split(separator: "=", omittingEmptySubsequences: false)
            merge(String(parts[0]), String(parts[1]), at: time)
        case ("ACTION", _): merge("done", words[1] == "DONE" ? "yes" : "no", at: time)
        default: break
        }
    }

    mutating func merge(event fields: ReplyFields) {
        let time = fields["at"]
        switch fields["kind"] {
        case "pin": merge("pin", fields["by"] ?? "", at: time)
        case "unpin": merge("pin", "", at: time)
        case "delete": merge("hidden", "yes", at: time)
        case "restore": merge("hidden", "no", at: time)
        case "archive": merge("archived", "yes", at: time)
        case "unarchive": merge("archived", "no", at: time)
        case "member" where fields["user"] == "carol":
            merge("carol", fields["change"] == "added" ? "yes" : "no", at: time)
        case "action", "profile": merge(row: fields)
        default: break
        }
    }

    /// Merges the values of a row with exact times.
    mutating func merge(row fields: ReplyFields) {
        if let time = fields["pinnedAt"] { merge("pin", fields["pinnedBy"] ?? "", at: time) }
        merge("pin", "", at: fields["unpinnedAt"])
        merge("archived", "yes", at: fields["archivedAt"])
        merge("archived", "no", at: fields["unarchivedAt"])
        if fields["lastText"] == nil { merge("hidden", "yes", at: fields["hiddenAt"]) }
        merge("hidden", "no", at: fields["restoredAt"])
        merge("name", fields["name"] ?? "", at: fields["nameChanged"])
        merge("photo", fields["photo"] ?? "", at: fields["photoChanged"])
        merge("title", fields["title"] ?? "", at: fields["titleChanged"])
        merge("priority", fields["priority"] ?? "", at: fields["priorityChanged"])
        merge("done", fields["done"] == nil ? "no" : "yes", at: fields["doneChanged"])
    }
}
