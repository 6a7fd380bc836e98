import Node
import NodeKit
import StorePort
import Testing

/// The verbs that maintain a node's disk.
@Suite struct MaintenanceVerbTests {
    private let world = World()
    private var node: TestNode { world.n1 }

    @Test func `SCRUB answers once all is checked and the log is empty`() {
        let client = node.connect()
        _ = client.ask("CREATE c alice,bob", "SEND c alice id=m hello")
        client.say("SCRUB", "PING")
        for _ in 0..<20 { node.turn() }
        #expect(client.heard() == [])
        #expect(node.store.assumeIsolated { $0.takeLogsAsked() } == 1)
        node.node.assumeIsolated { $0.onLogEmptied(failure: nil) }
        #expect(
            client.heard() == [
                "OK checked=2 bad=0 indexes=0 miscounted=0 busy=0 seconds=0.000", "OK pong",
            ])
    }

    @Test func `a log that cannot be emptied is said`() {
        let client = node.connect()
        client.say("SCRUB")
        for _ in 0..<20 { node.turn() }
        node.node.assumeIsolated { $0.onLogEmptied(failure: "a reader is on it") }
        #expect(
            client.heard() == [
                "ERR 503 All was checked, but deleted texts may be left in the log: "
                    + "a reader is on it"
            ])
    }

    @Test func `BACKUP begins when all that its connection wrote is on disk`() {
        let client = node.connect()
        _ = client.ask("CREATE c alice,bob")
        node.store.assumeIsolated { $0.hold(true) }
        client.say("SEND c alice id=m hello", "BACKUP friday.sqlite")
        node.turn()
        #expect(node.store.assumeIsolated { $0.backupsAsked } == [])
        node.store.assumeIsolated { $0.hold(false) }
        node.settle()
        #expect(node.store.assumeIsolated { $0.backupsAsked } == ["friday.sqlite"])
        #expect(client.heard().count == 1)
        let other = node.connect()
        #expect(
            other.ask("BACKUP monday.sqlite") == [
                "ERR 429 A backup is being made already; ask again when it is done"
            ])
        node.node.assumeIsolated {
            $0.onBackedUp(.success((file: "/data/backups/friday.sqlite", bytes: 4_096)))
        }
        #expect(
            client.heard() == ["OK file=/data/backups/friday.sqlite bytes=4096 seconds=0.000"])
    }

    @Test(arguments: [
        (BackupFailure.exists, "409 A file of that name exists; name another"),
        (.noFolder, "400 There is no such folder on this node; make it first"),
        (.forbidden, "400 This node may not write there; name another folder"),
        (.full, "503 The disk is full: no room for a backup; name another disk"),
        (.failed("why"), "500 No backup was made: why"),
    ])
    func `why there is no backup is said`(failure: BackupFailure, sentence: String) {
        let client = node.connect()
        client.say("BACKUP x")
        node.node.assumeIsolated { $0.onBackedUp(.failure(failure)) }
        #expect(client.heard() == ["ERR " + sentence])
    }

    @Test func `a backup goes where no other program looks`() {
        let refusal =
            "ERR 400 <file> must be a name, or an absolute path ending in .sqlite, .db, .backup, "
            + ".bak, and not grapevine.sqlite; usage: BACKUP <file>"
        let client = node.connect()
        #expect(client.ask("BACKUP ../x", "BACKUP /etc/cron.d/x") == [refusal, refusal])
        #expect(node.store.assumeIsolated { $0.backupsAsked } == [])
    }

    @Test func `a full disk says so, deletes, and takes writes again when there is room`() {
        let client = node.connect()
        _ = client.ask("CREATE c alice,bob", "SEND c alice id=m hello", "SEND c alice id=k two")
        node.store.assumeIsolated { $0.leave(freeBytes: 1 << 20) }
        world.pass(milliseconds: 100, node)
        let full = "ERR 503 The disk is full: free some space; DELETE works"
        #expect(client.ask("SEND c alice id=n no", "EDIT c m alice no") == [full, full])
        #expect(client.ask("PIN c m alice", "CREATE d alice") == [full, full])
        #expect(client.ask("DELETE c m alice for=everyone", "DELETE c k bob") == ["OK", "OK"])
        #expect(client.ask("HISTORY c bob").count == 2)
        #expect(client.ask("STATUS").first?.hasSuffix(" disk=full") == true)
        node.store.assumeIsolated { $0.leave(freeBytes: 1 << 30) }
        world.pass(milliseconds: 100, node)
        #expect(client.ask("SEND c alice id=n yes").first?.hasPrefix("OK id=n") == true)
        #expect(client.ask("STATUS").first?.contains("disk=") == false)
    }
}
