import Foundation
import TestKit

@testable import GrapevineClient

/// A run of the model: clients of two or three users at a cluster that fails.
final class ModelRun {
    /// Actions of a run, each followed by up to a second.
    var actions = 150
    /// Whether apps end at commits of their stores, too, as they do in newer seeds.
    var endsAtCommits = false
    /// Milliseconds in which everything has to be in sync after the network has healed.
    var healing: Int64 = 120_000

    let clock = VirtualClock()
    let cluster: ModelCluster
    /// The conversations that there are from the beginning, and those that users have created.
    private(set) var conversations: [String]
    private(set) var clients: [ModelClient] = []
    var random: SplitMix64
    private var count = 0
    /// The lines of what has happened, if they are wanted.
    private(set) var log: [String] = []
    var isTraced = false
    /// The messages that users have sent, by id.
    private(set) var sent: [String: (client: ModelClient, number: UInt64, text: String)] = [:]
    /// The operations that users have made, by client.
    private(set) var acted: [(client: ModelClient, number: UInt64, action: Action)] = []

    init(
        seed: UInt64, fault: ModelCluster.Fault? = nil, lowersTokens: Bool = true,
        folder: URL? = nil
    ) throws(StoreError) {
        random = SplitMix64(seed: seed &* 2 &+ 1)
        cluster = ModelCluster(clock, seed: seed)
        cluster.fault = fault
        cluster.lowersTokens = lowersTokens
        conversations = seed % 3 == 0 ? ["lunch"] : ["lunch", "dinner"]
        let users = seed % 4 == 0 ? ["alice", "bob", "carol"] : ["alice", "bob"]
        cluster.trace = { [unowned self] in note($0()) }
        for id in conversations { cluster.create(id, users) }
        for (index, user) in (users + ["alice"]).enumerated() {
            let name = "\(user)-\(index)"
            let lead = [0, 0, -7_200_000, 3_000, -900][random.below(5)]
            let client = try ModelClient(
                name, user: user, at: cluster, lead: Int64(lead),
                path: folder?.appending(path: name).path)
            client.trace = { [unowned self] in note($0) }
            clients.append(client)
        }
    }

    func note(_ text: @autoclosure () -> String) {
        guard isTraced else { return }
        log.append("\(clock.now % 100_000_000) \(text())")
    }

    /// Starts all clients, and has the users act while everything fails, and waits until all is in
    /// sync.
    func perform() throws {
        cluster.isCalm = true
        for client in clients { try client.start(conversations) }
        try pass(2_000)
        cluster.isCalm = false
        for _ in 0..<actions { try act() }
        try heal()
        try checkEnd()
    }

    func pass(_ milliseconds: Int64) throws(ModelFailure) {
        try clock.run(until: clock.now + milliseconds) { () throws(ModelFailure) in try checkAll() }
    }

    private func heal() throws {
        note("heals")
        cluster.isCalm = true
        cluster.refusesTokens = false
        for node in cluster.nodes {
            node.isUp = true
            node.goOn()
        }
        for client in clients {
            client.line.isUp = true
            client.endsNoMore()
            if client.core == nil { try client.start(conversations) }
            for id in conversations { client.core?.open(id) }
            client.core?.set(.connected)
            client.arm()
        }
        for _ in 0..<(healing / 1_000) {
            cluster.replicate()
            try pass(1_000)
        }
    }

    /// The most conversations of a run.
    private static let conversationsMax = 5

    /// Has a user create a conversation with another user, or leave one that a user has created.
    private func join(_ client: ModelClient, _ conversation: String) throws {
        if random.chance(60), conversations.count < Self.conversationsMax {
            count += 1
            let id = "chat\(count)"
            conversations.append(id)
            let other = client.user == "alice" ? "bob" : "alice"
            try act(
                client, .create(conversation: id, title: id, emails: [other + "@example.org"]))
            client.core?.open(id)
        } else if conversation.hasPrefix("chat"), try client.lists(conversation) {
            try act(client, .leave(conversation: conversation))
        }
        client.arm()
    }

    // MARK: Actions

    private func act() throws {
        let client = random.pick(clients)
        if random.chance(25) { cluster.replicate() }
        if random.chance(15) {
            fail(client)
        } else if client.core == nil {
            note("starts \(client.name)")
            let count = endsAtCommits && random.chance(20) ? 1 + random.below(4) : nil
            try client.start(conversations, endingAt: count)
        } else {
            let conversation = random.pick(conversations)
            if random.chance(4) {
                try join(client, conversation)
            } else if try client.lists(conversation) {
                client.core?.open(conversation)
                try act(client, in: conversation)
            }
        }
        try checkAll()
        if endsAtCommits, client.core != nil, random.chance(6) {
            note("ends \(client.name) at a commit")
            client.crash(atCommit: 1 + random.below(4), isDone: random.chance(50))
        } else if random.chance(6) {
            if random.chance(50) { client.mute() }
            try pass(Int64(random.below(60)))
            note("ends \(client.name)")
            client.crash()
        }
        try pass(Int64(random.below(1_000)))
    }

    private func fail(_ client: ModelClient) {
        let index = random.below(cluster.nodes.count)
        let node = cluster.nodes[index]
        switch random.below(20) {
        case 0..<6:
            client.line.isUp.toggle()
            note("line of \(client.name) \(client.line.isUp)")
        case 6..<9:
            cluster.kill(index)
            note("kills \(index)")
        case 9..<12:
            node.isUp = true
            note("starts \(index)")
        case 12..<14:
            node.stop()
            note("stops \(index)")
        case 14..<16:
            note("goes on \(index)")
            node.goOn()
        case 16:
            cluster.refusesTokens.toggle()
            note("refuses tokens \(cluster.refusesTokens)")
        case 17: client.core?.set(random.chance(50) ? .connected : .paused(.background))
        case 18: client.core?.enterForeground()
        default: client.core?.retry()
        }
        client.arm()
    }

    private func act(_ client: ModelClient, in conversation: String) throws {
        let shown = client.shown[conversation] ?? []
        let dice = random.below(100)
        if dice < 40 || shown.isEmpty { return try send(client, in: conversation) }
        let message = random.pick(shown)
        if dice < 95 {
            guard let action = change(of: message, client, dice, in: conversation) else { return }
            return try act(client, action)
        }
        if dice < 97 {
            return try act(
                client, .hide(conversation: conversation, through: client.lastSent(conversation)))
        }
        client.core?.loadEarlier(in: conversation) { _ in }
        client.arm()
    }

    private func change(
        of message: SeenMessage, _ client: ModelClient, _ dice: Int, in conversation: String
    ) -> Action? {
        let isMine = message.id.contains(client.user)
        switch dice {
        case 40..<55:
            count += 1
            let text = "edit \(count)"
            return isMine && !message.isRetracted
                ? .edit(conversation: conversation, message: message.id, text: text) : nil
        case 55..<68:
            return message.pinnedBy == nil
                ? .pin(conversation: conversation, message: message.id)
                : .unpin(conversation: conversation, message: message.id)
        case 68..<74: return .delete(conversation: conversation, message: message.id)
        case 74..<79:
            let deleted = client.memory.wishes.filter {
                $0.key.conversation == conversation && $0.value.value == "no"
                    && !$0.value.isFinal
            }.map(\.key.message).sorted()
            return deleted.isEmpty
                ? nil : .restore(conversation: conversation, message: random.pick(deleted))
        case 79..<83:
            return isMine
                ? .deleteForEveryone(conversation: conversation, message: message.id) : nil
        case 83..<86:
            return random.chance(50)
                ? .archive(conversation: conversation) : .unarchive(conversation: conversation)
        case 86..<90:
            client.view(random.chance(75) ? conversation : nil)
            return nil
        default:
            read(message, client, in: conversation)
            return nil
        }
    }

    private func read(_ message: SeenMessage, _ client: ModelClient, in conversation: String) {
        do {
            guard let record = try client.record(message.id, in: conversation) else { return }
            try client.core?.step { (step: inout Step) throws(StoreError) in
                try client.core?.set(.read, upTo: record, in: conversation, &step)
            }
            client.arm()
        } catch {
            note("\(error)")
        }
    }

    private func send(_ client: ModelClient, in conversation: String) throws {
        count += 1
        let text = random.chance(5) ? "forbidden \(count)" : "text \(count)"
        let id = client.newID()
        var (draft, files) = (Action.Draft(text: text), [String: Data]())
        if random.chance(10) {
            draft.blob = "file \(count)"
            files["file \(count)"] = Data("file \(count)".utf8)
        }
        let action = Action.send(conversation: conversation, message: id, draft)
        guard let number = try client.act(action, files: files) else { return }
        sent[id] = (client, number, text)
        acted.append((client, number, action))
    }

    private func act(_ client: ModelClient, _ action: Action) throws {
        do {
            guard let number = try client.act(action) else { return }
            acted.append((client, number, action))
        } catch {
            note("\(client.name) \(action) \(error)")
        }
    }
}
