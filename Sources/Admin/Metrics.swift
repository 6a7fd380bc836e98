import Chat
import LineProtocol
import Membership
import Node
import Replication
import StorePort
import Wire

extension MetricsText {
    /// Writes the reply to `METRICS`: a node's metrics in the format of Prometheus.
    ///
    /// No label contains the name of a user or a conversation: each series uses memory of the
    /// server that reads the metrics, so the number of series is bounded.
    init(of metrics: NodeMetrics) {
        writeNode(metrics)
        writeClients(metrics)
        writeDisk(metrics)
        writeCluster(metrics)
        writePeers(metrics.peers)
        writeReplication(metrics)
        writePushes(metrics)
        if let process = metrics.process { writeProcess(process) }
    }

    private mutating func writeNode(_ metrics: NodeMetrics) {
        let node = metrics.node
        family("grapevine_build_info", .gauge, "Always 1; its labels say what runs.")
        sample(Label("version", Node.version), Label("protocol", 1), value: 1)
        family("grapevine_node_info", .gauge, "Always 1; its labels say which node this is.")
        sample(
            Label("node", node.name), Label("cluster", node.cluster?.text ?? ""), value: 1)
        family("grapevine_uptime_seconds", .gauge, "How long the node has run.")
        sample(microseconds: node.uptimeMilliseconds * 1_000)
        family(
            "grapevine_wall_clock_seconds", .gauge,
            "What the node's wall clock says, since 1970: nodes that differ are wrong.")
        sample(microseconds: metrics.wallMilliseconds * 1_000)
    }

    private mutating func writeClients(_ metrics: NodeMetrics) {
        family("grapevine_clients", .gauge, "Clients that are connected.")
        sample(value: metrics.clients)
        family(
            "grapevine_clients_paused", .gauge,
            "Whether clients' lines wait unread, because the disk or other nodes are behind.")
        sample(flag: metrics.isHoldingClients)
        family(
            "grapevine_requests_total", .counter,
            "Requests that were answered, by verb (none: no such verb) and code (OK, or ERR's)."
        )
        for (place, code, count) in metrics.requests.byVerb {
            let verb = place.map { Verb.all[$0].name } ?? "none"
            let outcome = code.map { "\($0)" } ?? "OK"
            sample(Label("verb", verb), Label("code", outcome), value: count)
        }
        family(
            "grapevine_request_duration_seconds", .histogram,
            "From the end of a line to its reply, by what kind of request it is.")
        for kind in RequestKind.allCases {
            sample(
                Label("kind", "\(kind)"), histogram: metrics.requests.durations(of: kind),
                of: .microseconds)
        }
    }

    private mutating func writeDisk(_ metrics: NodeMetrics) {
        family(
            "grapevine_commit_duration_seconds", .histogram,
            "From handing a commit to the disk to its being there.")
        sample(histogram: metrics.commits, of: .microseconds)
        family("grapevine_commit_records", .histogram, "Documents in each commit.")
        sample(histogram: metrics.records, of: .things)
        family("grapevine_commits_failed_total", .counter, "Commits that the disk did not take.")
        sample(value: metrics.failedCommits)
        family("grapevine_commit_queue_bytes", .gauge, "What waits to be on disk.")
        sample(value: metrics.storeQueuedBytes)
        family("grapevine_writes_refused", .gauge, "Whether writes are refused, as commits fail.")
        sample(flag: metrics.isRefusingWrites)
        family("grapevine_disk_full", .gauge, "Whether there is no room for more than deletions.")
        sample(flag: metrics.isDiskFull)
        guard let store = metrics.store else { return }
        family("grapevine_database_bytes", .gauge, "Size of the database's file.")
        sample(value: store.databaseBytes)
        family("grapevine_database_log_bytes", .gauge, "Size of the log in front of it.")
        sample(value: store.logBytes)
        family("grapevine_disk_free_bytes", .gauge, "What is left on its disk.")
        sample(value: store.freeBytes)
    }

    private mutating func writeCluster(_ metrics: NodeMetrics) {
        family("grapevine_members", .gauge, "Nodes of the cluster, as this one sees them.")
        for (state, count) in metrics.members { sample(Label("state", state), value: count) }
        family(
            "grapevine_converged", .gauge,
            "Whether every living co-owner confirmed lately that its copies equal those here.")
        sample(flag: metrics.node.isConverged)
        family("grapevine_shards", .gauge, "Shards that are held here.")
        for (state, count) in metrics.shards {
            sample(Label("state", state.rawValue), value: count)
        }
        family("grapevine_documents", .gauge, "Documents in them, tombstones too.")
        for (kind, count) in metrics.documents {
            sample(Label("kind", MetricsText.name(of: kind)), value: count)
        }
    }

    private mutating func writeReplication(_ metrics: NodeMetrics) {
        let copies = metrics.copies
        family(
            "grapevine_pulls_begun_total", .counter, "Times that a shard's changes were asked for.")
        sample(value: copies.pullsBegun)
        family("grapevine_pulls_done_total", .counter, "Those that brought all of them.")
        sample(value: copies.pullsDone)
        family("grapevine_pulls_broken_total", .counter, "Those that broke off.")
        sample(value: copies.pullsBroken)
        family(
            "grapevine_merges_total", .counter,
            "Documents of other nodes that were merged, by whether that changed anything.")
        sample(Label("changed", "true"), value: copies.changingMerges)
        sample(Label("changed", "false"), value: copies.merges - copies.changingMerges)
        let forwards = metrics.forwards
        family(
            "grapevine_forwards_total", .counter,
            "Requests for what is not held here, by what came of them.")
        sample(Label("outcome", "answered"), value: forwards.answered)
        sample(Label("outcome", "refused"), value: forwards.refused)
        sample(Label("outcome", "failed"), value: forwards.failed)
        sample(Label("outcome", "resumed"), value: forwards.resumed)
        family(
            "grapevine_forwards_passed_on_total", .counter,
            "Times that another node had to be asked, as the one before could not answer.")
        sample(value: forwards.passedOn)
        family("grapevine_forwards_waiting", .gauge, "Those that wait for an answer.")
        sample(value: metrics.load.forwards)
    }

    private mutating func writePushes(_ metrics: NodeMetrics) {
        guard !metrics.pushes.isEmpty else { return }
        family(
            "grapevine_notify_total", .counter,
            "Notifications that were pushed to devices, by what became of them.")
        for push in metrics.pushes { sample(Label("result", push.result), value: push.count) }
    }

    private mutating func writeProcess(_ process: ProcessUsage) {
        family("process_cpu_seconds_total", .counter, "Time on processors, of all threads.")
        sample(microseconds: process.cpuMicroseconds)
        family("process_resident_memory_bytes", .gauge, "Memory in RAM.")
        sample(value: process.residentBytes)
        family("process_virtual_memory_bytes", .gauge, "Memory that has addresses.")
        sample(value: process.virtualBytes)
        family("process_open_fds", .gauge, "Open file descriptors.")
        sample(value: process.openDescriptors)
        family("process_max_fds", .gauge, "The most file descriptors that may be open.")
        sample(value: process.descriptorsMax)
        family("process_start_time_seconds", .gauge, "When the process started, since 1970.")
        sample(microseconds: process.startedAtMilliseconds * 1_000)
    }
}

// MARK: Peers

extension MetricsText {
    private mutating func writePeers(_ peers: [PeerMetrics]) {
        writeConnections(peers)
        family("grapevine_peer_received_bytes_total", .counter, "What came from it.")
        for peer in peers { sample(Label("peer", peer.name), value: peer.traffic.receivedBytes) }
        family("grapevine_peer_sent_bytes_total", .counter, "What was sent to it.")
        for peer in peers { sample(Label("peer", peer.name), value: peer.traffic.sentBytes) }
        family(
            "grapevine_peer_dropped_frames_total", .counter,
            "What was not sent because too much waited for it already; pulls fetch it later.")
        for peer in peers { sample(Label("peer", peer.name), value: peer.traffic.droppedFrames) }
        family("grapevine_peer_queued_bytes", .gauge, "What waits to be sent to it.")
        for peer in peers { sample(Label("peer", peer.name), value: peer.queuedBytes) }
        family(
            "grapevine_peer_behind_changes", .gauge,
            "Changes on this disk that are not known to be on its own.")
        for peer in peers { sample(Label("peer", peer.name), value: peer.behind) }
    }

    private mutating func writeConnections(_ peers: [PeerMetrics]) {
        family("grapevine_peer_alive", .gauge, "Whether another node is held to be alive.")
        for peer in peers { sample(Label("peer", peer.name), flag: peer.state == .alive) }
        family("grapevine_peer_connected", .gauge, "Whether there is a connection to it.")
        for peer in peers { sample(Label("peer", peer.name), flag: peer.isConnected) }
        family("grapevine_peer_rtt_seconds", .gauge, "How long its last answer to a ping took.")
        for peer in peers {
            guard let rtt = peer.rttMilliseconds else { continue }
            sample(Label("peer", peer.name), microseconds: rtt * 1_000)
        }
    }

    private static func name(of kind: DocumentKey.Kind) -> String {
        switch kind {
        case .conversation: "conversation"
        case .message: "message"
        case .participantState: "participant-state"
        default: "\(kind.number)"
        }
    }
}
