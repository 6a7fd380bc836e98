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
        /// The registers for which two values were told with the present value's time.
        private(set) var tied: Set<String> = []

        mutating func merge(_ name: String, _ value: String, at time: String?) {
            guard let time else { return }
            if let known = registers[name] {
                if known.time == time, known.value != value { tied.insert(name) }
                if (known.time, known.value) >= (time, value) { return }
                if known.time < time { tied.remove(name) }
            }
            registers[name] = (time, value)
        }
    }

    /// Nodes that are connected or held apart, clients that write at any of them, and a watcher at
    /// each.
    private struct Scene {
        let world: World
        let nodes: [TestNode]
        let watchers: [TestClient]
        var random: SplitMix64
        /// What nodes have told: writes with their answers, and events.
        var told: [(write: String?, line: String)] = []
        /// A token of the state before the writes.
        private var token = ""

        init(seed: UInt64) {
            random = SplitMix64(seed: seed)
            world = World(replicas: .count(seed.isMultiple(of: 2) ? 3 : 2))
            nodes = world.joinTwo()
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
                token = Self.fields(watcher.heard().first ?? "")?["token"] ?? ""
            }
        }

        private mutating func pick<Element>(_ list: [Element]) -> Element {
            list[Int.random(in: list.indices, using: &random)]
        }

        private mutating func nextWrite() -> String {
            let number = Int.random(in: 0..<4, using: &random)
            return pick([
                "PIN c m alice", "UNPIN c m alice", "PIN c m bob", "DELETE c m alice",
                "RESTORE c m alice", "PIN c k bob", "UNPIN c k bob", "DELETE c k alice",
                "RESTORE c k alice", "SEND c bob id=k", "ARCHIVE c alice", "UNARCHIVE c alice",
                "PROFILE alice name=A\(number)", "PROFILE alice photo=p\(number)",
                "PROFILE alice name=A\(number) photo=p\(number)",
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
                world.clock.advance(milliseconds: UInt64.random(in: 0...2, using: &random))
                let write = nextWrite()
                let client = pick(nodes).connect()
                client.say("SET ack=local")
                client.say(write + " times=exact" + (write.hasPrefix("SEND") ? " hello" : ""))
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

        /// Returns what a client holds that was away all the time, and resumes at a node.
        func resumed(at node: TestNode) -> Store {
            var store = Store()
            let client = node.connect()
            client.say("WATCH alice since=\(token) times=exact level=true")
            world.live(milliseconds: 2_000, nodes[0], nodes[1], nodes[2])
            let heard = client.heard()
            #expect(heard.last?.hasPrefix("EVENT kind=level ") == true)
            for line in heard where line.hasPrefix("EVENT ") {
                if let fields = Self.fields(line) { store.merge(event: fields) }
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
            compare(merged, to: shown, "seed \(seed)")
            compare(scene.resumed(at: node), to: shown, "seed \(seed), resumed")
        }
    }

    private func compare(_ merged: Store, to shown: Store, _ seed: String) {
        for (name, register) in shown.registers {
            guard let mine = merged.registers[name] else { continue }
            let isOfSet = ["archived", "carol"].contains(name) || name.hasPrefix("hidden")
            // A removal that two owners have executed, of which one had not seen the addition, has
            // the time of its conflict with that addition.
            if isOfSet, merged.tied.contains(name) { continue }
            #expect(mine.value == register.value, "\(seed): \(name)")
            // A removal of what is not there has a time, but no event tells of it.
            #expect(
                mine.time == register.time || (isOfSet && mine.time < register.time),
                "\(seed): \(name)")
        }
    }
}

extension ExactTimesMergeTests.Store {
    /// Merges the consequence of a write that a node has accepted.
    mutating func merge(_ write: String, at time: String?) {
        let words = write.split(separator: " ").map(String.init)
        switch (words[0], words[0] == "ACTION" ? words[1] : words.last ?? "") {
        case ("PIN", let user): merge("pin of " + words[2], user, at: time)
        case ("UNPIN", _): merge("pin of " + words[2], "", at: time)
        case ("DELETE", _): merge("hidden " + words[2], "yes", at: time)
        case ("RESTORE", _): merge("hidden " + words[2], "no", at: time)
        case ("ARCHIVE", _): merge("archived", "yes", at: time)
        case ("UNARCHIVE", _): merge("archived", "no", at: time)
        case ("INVITE", _): merge("carol", "yes", at: time)
        case ("LEAVECHAT", _): merge("carol", "no", at: time)
        case ("PROFILE", _), ("ACTION", "EDIT"):
            for word in words where word.contains("=") {
                let parts = word.split(separator: "=", omittingEmptySubsequences: false)
                merge(String(parts[0]), String(parts[1]), at: time)
            }
        case ("ACTION", _): merge("done", words[1] == "DONE" ? "yes" : "no", at: time)
        default: break
        }
    }

    mutating func merge(event fields: ReplyFields) {
        let (time, id) = (fields["at"], fields["id"] ?? "")
        switch fields["kind"] {
        case "pin": merge("pin of " + id, fields["by"] ?? "", at: time)
        case "unpin": merge("pin of " + id, "", at: time)
        case "delete": merge("hidden " + id, "yes", at: time)
        case "restore": merge("hidden " + id, "no", at: time)
        case "message": merge(row: fields)
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
        let id = fields["id"] ?? ""
        if let time = fields["pinnedAt"] {
            merge("pin of " + id, fields["pinnedBy"] ?? "", at: time)
        }
        merge("pin of " + id, "", at: fields["unpinnedAt"])
        merge("archived", "yes", at: fields["archivedAt"])
        merge("archived", "no", at: fields["unarchivedAt"])
        if fields["lastText"] == nil { merge("hidden " + id, "yes", at: fields["hiddenAt"]) }
        merge("hidden " + id, "no", at: fields["restoredAt"])
        merge("name", fields["name"] ?? "", at: fields["nameChanged"])
        merge("photo", fields["photo"] ?? "", at: fields["photoChanged"])
        merge("title", fields["title"] ?? "", at: fields["titleChanged"])
        merge("priority", fields["priority"] ?? "", at: fields["priorityChanged"])
        merge("done", fields["done"] == nil ? "no" : "yes", at: fields["doneChanged"])
    }
}
