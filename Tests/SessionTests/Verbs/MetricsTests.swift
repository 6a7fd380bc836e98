import NodeKit
import Placement
import StorePort
import Testing

@testable import Admin
@testable import Node

/// The figures that a node reports about itself.
@Suite struct MetricsTests {
    private let world = World()

    private func metrics(of node: TestNode) throws -> PrometheusText {
        let lines = node.connect().ask("METRICS")
        try #require(lines.last == "OK")
        #expect(!lines.dropLast().contains { $0.hasPrefix("OK") || $0.hasPrefix("ERR") })
        return try PrometheusText(Array(lines.dropLast()))
    }

    @Test func `every line is Prometheus text, by its conventions`() throws {
        let joined = world.join("n2")
        _ = joined.connect().ask("CREATE c alice,bob", "SEND c alice hello", "HISTORY c bob")
        let text = try metrics(of: joined)
        #expect(text.families.count > 40)
        for family in text.families {
            let isOwn = family.name.hasPrefix("grapevine_") || family.name.hasPrefix("process_")
            #expect(isOwn, "\(family.name)")
        }
        #expect(text.value("process_cpu_seconds_total") == 1.5)
        #expect(text.value("process_start_time_seconds") == 1_795_240_800)
        #expect(text.value("grapevine_database_bytes") == 4_096)
        #expect(text.value("grapevine_disk_free_bytes") == 1_099_511_627_776)
    }

    @Test(arguments: [
        ["# TYPE a gauge", "a 1"], ["# HELP a b", "# TYPE a counter", "a 1"],
        ["# HELP a_total b", "# TYPE a_total gauge", "a_total 1"],
        ["# HELP a b", "# TYPE a gauge", "b 1"], ["# HELP a b", "# TYPE a gauge", "a 1", "a 2"],
        ["# HELP a b", "# TYPE a gauge", "a{b=\"c} 1"], ["# HELP a b", "# TYPE a gauge", "a x"],
        ["# HELP a_ms b", "# TYPE a_ms gauge", "a_ms 1"],
        ["# HELP a b", "# TYPE a histogram", "a_bucket{le=\"+Inf\"} 1", "a_sum 1", "a_count 2"],
        ["# HELP a b", "# TYPE a histogram", "a_bucket{le=\"1\"} 1", "a_sum 1", "a_count 1"],
    ])
    func `the reader that the others trust refuses what a scraper would`(_ lines: [String]) {
        #expect(throws: PrometheusText.Broken.self) { try PrometheusText(lines) }
    }

    @Test func `requests are counted by verb and by what came of them`() throws {
        let client = world.n1.connect()
        _ = client.ask("CREATE c alice,bob", "SEND c alice one", "SEND c alice two", "PING")
        _ = client.ask("SEND c eve hello", "send c", "NONSENSE", "HISTORY c bob", " ")
        client.feed(String(repeating: "x", count: 70_000) + "\n")
        let text = try metrics(of: world.n1)
        func count(_ verb: String, _ code: String) -> Double? {
            text.value("grapevine_requests_total", ["verb": verb, "code": code])
        }
        #expect(count("SEND", "OK") == 2)
        #expect(count("SEND", "403") == 1)
        #expect(count("SEND", "400") == 1)
        #expect(count("PING", "OK") == 1)
        #expect(count("none", "400") == 1)
        #expect(count("none", "413") == 1)
        #expect(count("EDIT", "OK") == nil)
        let duration = "grapevine_request_duration_seconds_count"
        #expect(text.value(duration, ["kind": "write"]) == 4)
        #expect(text.value(duration, ["kind": "read"]) == 1)
        #expect(text.value(duration, ["kind": "other"]) == 4)
    }

    @Test func `a write lasts from its line to its reply, a commit until the disk has it`() throws {
        let client = world.n1.connect()
        _ = client.ask("CREATE c alice,bob")
        world.n1.store.assumeIsolated { $0.hold(true) }
        let before = try metrics(of: world.n1)
        client.say("SEND c alice one")
        world.clock.advance(milliseconds: 30)
        world.n1.turn()
        world.clock.advance(milliseconds: 7)
        world.n1.complete()
        #expect(client.heard().count == 1)
        world.n1.store.assumeIsolated { $0.hold(false) }
        let after = try metrics(of: world.n1)
        func rise(_ name: String, _ labels: [String: String] = [:]) -> Double {
            (after.value(name, labels) ?? 0) - (before.value(name, labels) ?? 0)
        }
        let kind = ["kind": "write"]
        #expect(abs(rise("grapevine_request_duration_seconds_sum", kind) - 0.037) < 1e-9)
        #expect(
            rise("grapevine_request_duration_seconds_bucket", ["kind": "write", "le": "0.025"]) == 0
        )
        #expect(
            rise("grapevine_request_duration_seconds_bucket", ["kind": "write", "le": "0.05"]) == 1)
        #expect(abs(rise("grapevine_commit_duration_seconds_sum") - 0.007) < 1e-9)
        #expect(rise("grapevine_commit_records_sum") == 1)
        #expect(rise("grapevine_commit_records_count") == 1)
    }

    @Test func `a full disk shows until a commit works`() throws {
        let client = world.n1.connect()
        _ = client.ask("CREATE c alice,bob")
        world.n1.store.assumeIsolated { $0.hold(true) }
        client.say("SEND c alice one")
        world.n1.turn()
        world.n1.complete(failing: .full)
        world.n1.store.assumeIsolated { $0.hold(false) }
        let full = try metrics(of: world.n1)
        #expect(full.value("grapevine_disk_full") == 1)
        #expect(full.value("grapevine_writes_refused") == 1)
        #expect(full.value("grapevine_commits_failed_total") == 1)
        _ = client.ask("SEND c alice two")
        let well = try metrics(of: world.n1)
        #expect(well.value("grapevine_disk_full") == 0)
        #expect(well.value("grapevine_writes_refused") == 0)
    }

    @Test func `members, shards and what is in them are counted`() throws {
        let joined = world.join("n2")
        _ = world.n1.connect().ask("CREATE c alice,bob", "SEND c alice one", "SEND c bob two")
        world.settle(world.n1, joined)
        world.live(milliseconds: 2_000, world.n1, joined)
        let text = try metrics(of: joined)
        #expect(text.value("grapevine_members", ["state": "alive"]) == 2)
        #expect(text.value("grapevine_members", ["state": "dead"]) == 0)
        #expect(text.value("grapevine_shards", ["state": "ready"]) == 4)
        #expect(text.value("grapevine_documents", ["kind": "message"]) == 2)
        #expect(text.value("grapevine_converged") == 1)
        #expect(text.value("grapevine_merges_total", ["changed": "true"]) == 3)
        #expect(text.value("grapevine_pulls_begun_total") ?? 0 >= 4)
        #expect(text.value("grapevine_pulls_broken_total") == 0)
        #expect(text.value("grapevine_peer_alive", ["peer": "n1"]) == 1)
        #expect(text.value("grapevine_peer_connected", ["peer": "n1"]) == 1)
        #expect(text.value("grapevine_peer_behind_changes", ["peer": "n1"]) == 0)
        #expect(text.value("grapevine_peer_sent_bytes_total", ["peer": "n1"]) ?? 0 > 100)
        #expect(text.value("grapevine_peer_received_bytes_total", ["peer": "n1"]) ?? 0 > 100)
        #expect(text.value("grapevine_node_info", ["node": "n2", "cluster": "grapevine"]) == 1)
    }

    @Test func `what went to a member is kept when its connection ends`() throws {
        let joined = world.join("n2")
        let name = "grapevine_peer_sent_bytes_total"
        let before = try #require(try metrics(of: world.n1).value(name, ["peer": "n2"]))
        world.n1.node.assumeIsolated { node in
            for link in node.links.ascending { node.onClosed(link.channel.id) }
        }
        let after = try metrics(of: world.n1)
        #expect(after.value("grapevine_peer_connected", ["peer": "n2"]) == 0)
        #expect(after.value(name, ["peer": "n2"]) ?? 0 >= before)
        withExtendedLifetime(joined) {}
    }

    @Test func `a request that another node answers counts as forwarded`() throws {
        let world = World(replicas: .count(1))
        let joined = world.join("n2")
        world.live(milliseconds: 3_000, world.n1, joined)
        let client = joined.connect()
        for number in 0..<16 { client.say("CREATE c\(number) alice,bob", "SEND c\(number) eve hi") }
        // Each CREATE asks for blocks first, and what follows it waits.
        for _ in 0..<16 { world.settle(world.n1, joined) }
        let text = try metrics(of: joined)
        let answered = text.value("grapevine_forwards_total", ["outcome": "answered"]) ?? 0
        let refused = text.value("grapevine_forwards_total", ["outcome": "refused"]) ?? 0
        #expect(answered > 0 && answered == refused)
        #expect(text.value("grapevine_forwards_waiting") == 0)
    }

    @Test func `whatever stands in a label, the text stays whole`() throws {
        var text = MetricsText()
        text.family("a", .gauge, "back\\slash, \"quotes\"\nand an end")
        text.sample(MetricsText.Label("b", "\\ \" \n ."), value: -3)
        text.family("c_seconds", .histogram, "d")
        var histogram = Histogram([1_000, 2_500_000])
        for value: UInt64 in [1_000, 1_001, 9_000_001] { histogram.record(value) }
        text.sample(histogram: histogram, of: .microseconds)
        let lines = String(decoding: text.bytes, as: UTF8.self).split(separator: "\n")
        let read = try PrometheusText(lines.map(String.init))
        #expect(read.value("a", ["b": "\\ \" \n ."]) == -3)
        #expect(read.value("c_seconds_bucket", ["le": "0.001"]) == 1)
        #expect(read.value("c_seconds_bucket", ["le": "2.5"]) == 2)
        #expect(read.value("c_seconds_bucket", ["le": "+Inf"]) == 3)
        #expect(read.value("c_seconds_sum") == 9.002002)
    }
}
