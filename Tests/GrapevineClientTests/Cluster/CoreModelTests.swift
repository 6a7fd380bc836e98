import Foundation
import TestKit
import Testing

@testable import GrapevineClient

@Suite struct CoreModelTests {
    /// Seeds that found something once, and are kept.
    private static let kept: [UInt64] = [
        2, 721_522_734, 722_069_030, 722_069_108, 728_920_502, 738_104_386, 742_481_513,
        743_011_000, 743_254_553, 743_254_670, 743_807_351, 744_242_753,
    ]

    /// The same for runs in which apps end at commits.
    private static let keptWithCommits: [UInt64] = [
        773_336_621, 773_467_961, 773_467_972, 782_141_064, 782_238_972,
    ]

    @Test func `a message is sent and told`() throws {
        let run = try ModelRun(seed: 1)
        for client in run.clients { try client.start(["lunch"]) }
        try run.pass(1_000)
        let alice = run.clients[0]
        try alice.act(.send(conversation: "lunch", message: "m", Action.Draft(text: "Hi")))
        #expect(try alice.core?.snapshot(of: "lunch").messages.map(\.status) == [.waiting])
        try run.pass(200)
        for client in run.clients {
            run.cluster.replicate()
            try run.pass(1_000)
            #expect(try client.messages("lunch").map(\.text) == ["Hi"])
        }
        #expect(try alice.core?.snapshot(of: "lunch").messages.map(\.isSynced) == [true])
    }

    @Test func `a conversation that is looked at before it is loaded counts as read`() throws {
        let run = try ModelRun(seed: 1)
        let (alice, bob) = (run.clients[0], run.clients[1])
        try alice.start(["lunch"])
        try run.pass(1_000)
        try alice.act(.send(conversation: "lunch", message: "m", Action.Draft(text: "Hi")))
        try run.pass(1_000)
        run.cluster.replicate()
        try bob.start(["lunch"])
        bob.view("lunch")
        try run.pass(2_000)
        run.cluster.replicate()
        try run.pass(1_000)
        #expect(run.cluster.nodes[0].unread("lunch", "bob") == 0)
        #expect(try alice.core?.snapshot(of: "lunch").messages.map(\.readBy) == [["bob"]])
    }

    @Test func `views agree after failures of every kind`() {
        let environment = ProcessInfo.processInfo.environment
        if let given = environment["GRAPEVINE_SEED"].flatMap(UInt64.init) {
            return check(given, endsAtCommits: environment["COMMITS"] != nil)
        }
        let first = UInt64(Date().timeIntervalSince1970 * 1_000) % (1 << 31)
        let fresh = environment["COUNT"].flatMap(UInt64.init) ?? 1
        for seed in Self.kept { check(seed) }
        for seed in Self.keptWithCommits + Array(first..<(first + fresh)) {
            check(seed, endsAtCommits: true)
        }
    }

    private func check(_ seed: UInt64, endsAtCommits: Bool = false) {
        let isTraced = ProcessInfo.processInfo.environment["TRACE"] != nil
        let failure = failure(of: seed, endsAtCommits: endsAtCommits, isTraced: isTraced)
        guard let failure else { return }
        Issue.record("\(endsAtCommits ? "COMMITS=1 " : "")GRAPEVINE_SEED=\(seed) \(failure)")
    }

    /// Performs a run, and returns what is wrong.
    private func failure(
        of seed: UInt64, fault: ModelCluster.Fault? = nil, actions: Int = 150,
        endsAtCommits: Bool = false, isTraced: Bool = false
    ) -> String? {
        do {
            let run = try ModelRun(seed: seed, fault: fault)
            run.isTraced = isTraced
            run.endsAtCommits = endsAtCommits
            run.actions = actions
            defer { if isTraced { print(run.log.joined(separator: "\n")) } }
            try run.perform()
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: ModelCluster.Fault.allCases)
    func `a planted fault is found`(_ fault: ModelCluster.Fault) {
        let found = (fault.seed..<fault.seed + 1_000).lazy.compactMap { seed in
            failure(of: seed, fault: fault, actions: 60).map { "\(seed) \($0)" }
        }.first
        if ProcessInfo.processInfo.environment["TRACE"] != nil { print(fault, found ?? "") }
        #expect(found != nil, "\(fault)")
    }

    @Test func `a client goes on from its file after it has ended`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "core-model-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let run = try ModelRun(seed: 2, folder: folder)
        run.actions = 10
        run.healing = 40_000
        try run.perform()
    }
}
