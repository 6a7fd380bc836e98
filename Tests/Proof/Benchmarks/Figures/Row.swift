/// One line of the table of figures: a measurement, its unit, and its bounds.
struct Row: Hashable, Sendable {
    enum Part: String, CaseIterable {
        case ceilings, figures, ratios
    }

    /// The greatest or the least value that a figure should have.
    enum Bound: Hashable, Sendable {
        case atMost(Double)
        case atLeast(Double)

        var limit: Double {
            switch self {
            case .atMost(let limit), .atLeast(let limit): limit
            }
        }

        func isMet(by value: Double) -> Bool {
            switch self {
            case .atMost(let limit): value <= limit
            case .atLeast(let limit): value >= limit
            }
        }
    }

    let part: Part
    let name: String
    let unit: String
    let digits: Int
    let meaning: String
    /// The aim of the design.
    var aim: Bound?
    /// The bound that every change has to keep.
    var floor: Bound?

    init(
        _ part: Part, _ name: String, _ unit: String, digits: Int = 0, aim: Bound? = nil,
        floor: Bound? = nil, _ meaning: String
    ) {
        self.part = part
        self.name = name
        self.unit = unit
        self.digits = digits
        self.meaning = meaning
        self.aim = aim
        self.floor = floor
    }
}

// MARK: - Ceilings: the limits of the machine

extension Row {
    static let coreSpeed = Row(
        .ceilings, "core-rounds", "M/s",
        "rounds of SplitMix64 on one core: compares runs of different days")
    static let syncRate = Row(
        .ceilings, "fdatasync-rate", "/s", "appends of 4 KiB, each synced, one after the other")
    static let syncP50 = Row(.ceilings, "fdatasync-p50", "ms", digits: 3, "one of them, the median")
    static let syncP99 = Row(
        .ceilings, "fdatasync-p99", "ms", digits: 3, "one of them, of a hundred the slowest")
    static let tcpRoundTrip = Row(
        .ceilings, "tcp-round-trip-p50", "ms", digits: 3,
        "100 bytes there and back on loopback between two threads")
    static let tcpStream = Row(
        .ceilings, "tcp-stream", "lines/s",
        "lines of 100 bytes on one loopback connection, 100 a write")
    static let diskWrite = Row(
        .ceilings, "disk-write", "MB/s", "a file of 25 MiB, written in one go and synced (fsync)")
    static let diskRead = Row(
        .ceilings, "disk-read", "MB/s",
        "the same file, read in one go, without what the kernel kept of it")
}

// MARK: - Figures: the performance of the nodes

extension Row {
    static let oneClientP50 = Row(
        .figures, "one-client-p50", "ms", digits: 2, aim: .atMost(0.6), floor: .atMost(1),
        "three nodes, ack=majority, one client, one send at a time")
    static let oneClientP99 = Row(
        .figures, "one-client-p99", "ms", digits: 2, aim: .atMost(1.4), "the same")
    static let threeNodesSends = Row(
        .figures, "three-nodes-sends", "/s", aim: .atLeast(60_000), floor: .atLeast(15_000),
        "three nodes, ack=majority, 50 connections, 16 sends in flight on each")
    static let threeNodesP50 = Row(.figures, "three-nodes-p50", "ms", digits: 1, "the same load")
    static let threeNodesP99 = Row(.figures, "three-nodes-p99", "ms", digits: 1, "the same load")
    static let oneNodeSends = Row(
        .figures, "one-node-sends", "/s", aim: .atLeast(150_000), floor: .atLeast(50_000),
        "one node, 50 connections, 16 sends in flight on each")
    static let oneNodeP50 = Row(.figures, "one-node-p50", "ms", digits: 1, "the same load")
    static let oneNodeP99 = Row(.figures, "one-node-p99", "ms", digits: 1, "the same load")
    static let socketSends = Row(
        .figures, "socket-sends", "/s", "the same load over WebSockets, as JSON")
    static let httpSends = Row(
        .figures, "http-sends", "/s", "the same load over HTTP, 16 requests in flight on each")
    static let socketEventLast = Row(
        .figures, "socket-event-to-1000", "ms", digits: 1,
        "one node, 1,000 WebSockets of a user: from a sender's line until the last of them has the "
            + "event, p50")
    static let socketMemory = Row(
        .figures, "memory-socket", "B", floor: .atMost(12_000),
        "resident memory that each of them costs the node, one second after all have opened")
    static let encryptedSocketMemory = Row(
        .figures, "memory-socket-tls", "B", floor: .atMost(40_000),
        "the same of 500 WebSockets over TLS that wait for nothing")
    static let handshakes = Row(
        .figures, "tls-handshakes", "/s",
        "one node, new TLS connections to the port for apps, one after the other on four threads, "
            + "without resumption, P-256")
    static let upload = Row(
        .figures, "file-upload", "MB/s",
        "one node, one client: a file of 25 MiB over HTTP, until it is on disk")
    static let download = Row(
        .figures, "file-download", "MB/s", "the same file over HTTP, until its last byte")
    static let eventP50 = Row(
        .figures, "event-p50", "ms", digits: 2,
        "five nodes, 100 sends a second to all in turn, a watcher on each: from the sender's line "
            + "to the watcher's")
    static let eventP99 = Row(.figures, "event-p99", "ms", digits: 2, aim: .atMost(10), "the same")
    static let eventAfterOKP99 = Row(
        .figures, "event-after-ok-p99", "ms", digits: 2, aim: .atMost(10), floor: .atMost(50),
        "the same, from the sender's OK; zero where the event came first")
    static let eventsAstray = Row(
        .figures, "events-astray", "events", aim: .atMost(0), floor: .atMost(0),
        "of these, not told or told twice")
    static let killFailures = Row(
        .figures, "kill-failed", "requests", aim: .atMost(0),
        "of 50 clients of two nodes while a third is killed (kill -9): refused or unanswered")
    static let killLongestWait = Row(
        .figures, "kill-longest-wait", "ms", aim: .atMost(1_000),
        "the longest that any of them waited for an OK, ack=majority")
    static let wire = Row(
        .figures, "wire-bytes", "B/B", digits: 2, aim: .atMost(1.5),
        "bytes between three nodes under three-nodes-sends, per byte of text and co-owner: what "
            + "the kernel counts on their connections (tcp_info), all that they say included")
    static let idleWire = Row(
        .figures, "idle-bytes", "B/s", "bytes a second between two of three idle nodes, both ways")
    static let idleMemory = Row(
        .figures, "memory-idle", "MiB", digits: 1,
        "resident memory of the largest of three nodes with 100 empty conversations")
    static let loadedMemory = Row(
        .figures, "memory-loaded", "MiB", digits: 1, "the same after three-nodes-sends")

    static func levelAfter(_ sends: Int) -> Row {
        Row(
            .figures, "level-after-\(sends)", "s", digits: 2,
            aim: .atMost(sends <= 10_000 ? 0.5 : 10),
            floor: sends == 100_000 ? .atMost(10) : nil,
            "a node that was killed and missed so many sends: from the start of its process until "
                + "its DIGEST is that of the others")
    }

    static func mergeRate(_ sends: Int) -> Row {
        Row(
            .figures, "merge-\(sends)", "/s",
            "messages that it merged a second of that time, start included")
    }

    static func mergePerCPU(_ sends: Int) -> Row {
        Row(
            .figures, "merge-per-cpu-\(sends)", "/s", aim: .atLeast(150_000),
            "messages that it merged per second of its own processor time, disk included")
    }

    static func watchersAnswered(_ count: Int) -> Row {
        Row(
            .figures, "watchers-\(count)", "s", digits: 2,
            "until so many connections to one of three nodes, each with its WATCH, were answered")
    }

    static func watcherMemory(_ count: Int) -> Row {
        Row(
            .figures, "memory-watcher-\(count)", "B", floor: .atMost(10_000),
            "resident memory that each of them costs the node, one second later")
    }

    static func newestP50(_ messages: Int) -> Row {
        Row(
            .figures, "newest-50-of-\(messages)-p50", "ms", digits: 2, aim: .atMost(1),
            "HISTORY limit=50 of a conversation of so many messages, one client")
    }

    static func newestP99(_ messages: Int) -> Row {
        Row(.figures, "newest-50-of-\(messages)-p99", "ms", digits: 2, "the same")
    }

    static func middleP50(_ messages: Int) -> Row {
        Row(
            .figures, "middle-50-of-\(messages)-p50", "ms", digits: 2,
            "the 50 before a message in its middle")
    }

    static func middleP99(_ messages: Int) -> Row {
        Row(.figures, "middle-50-of-\(messages)-p99", "ms", digits: 2, "the same")
    }

    static func growth(_ verb: GrowingVerb, _ messages: Int) -> Row {
        Row(
            .figures, "\(verb.rawValue)-of-\(messages)-p50", "ms", digits: 2,
            "\(verb.meaning), of a user with one conversation of so many messages, one client")
    }

    static func start(_ messages: Int) -> Row {
        Row(
            .figures, "start-with-\(messages)", "ms", aim: .atMost(1_000),
            "a node with so many messages on disk, after kill -9 right behind 10,000 more: from "
                + "the start of its process until its ready line")
    }
}

// MARK: - Ratios: the share of the machine's limits

/// A figure as a multiple of a ceiling that was measured in the same pass.
struct Ratio: Sendable {
    let row: Row
    let figure: Row
    let ceiling: Row

    init(
        _ name: String, _ figure: Row, _ ceiling: Row, unit: String = "x",
        aim: Row.Bound? = nil
    ) {
        row = Row(
            .ratios, name, unit, digits: 2, aim: aim,
            "\(figure.name) over \(ceiling.name), pass by pass")
        self.figure = figure
        self.ceiling = ceiling
    }

    static let all = [
        Ratio("one-node-sends/sync", .oneNodeSends, .syncRate),
        Ratio("socket-sends/lines", .socketSends, .oneNodeSends, aim: .atLeast(0.7)),
        Ratio("http-sends/lines", .httpSends, .oneNodeSends),
        Ratio("file-upload/disk-write", .upload, .diskWrite),
        Ratio("file-download/disk-read", .download, .diskRead),
        Ratio("three-nodes-sends/sync", .threeNodesSends, .syncRate),
        Ratio("one-node-sends/core", .oneNodeSends, .coreSpeed, unit: "/Mround"),
        Ratio("three-nodes-sends/core", .threeNodesSends, .coreSpeed, unit: "/Mround"),
        Ratio("one-client-p50/sync", .oneClientP50, .syncP50),
        Ratio("one-client-p50/tcp", .oneClientP50, .tcpRoundTrip),
    ]
}
