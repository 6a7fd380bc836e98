import LineClient
import LineProtocol

/// The reads of everything from every node after a chaos run, compared with the expectations.
@Stage final class FinalReads {
    private static let pageLines = 1_000
    private static let askedAtOnce = 1_000
    private static let partialRepeatsMax = 3

    private let cluster: LocalCluster
    private let load: ChaosLoad
    private var checker: ChaosChecker
    private var lines: [LineConnection] = []
    private var nodes: [LocalNode] { cluster.members }
    /// By user, the views of the first node.
    private(set) var views = [UserViews](repeating: UserViews(), count: Expectations.users.count)

    init(_ cluster: LocalCluster, _ load: ChaosLoad) {
        self.cluster = cluster
        self.load = load
        checker = ChaosChecker(expectations: load.expectations)
    }

    func run() async throws(BenchError) {
        defer { for line in lines { line.close() } }
        for node in nodes { lines.append(try await cluster.connect(node)) }
        for conversation in 0..<load.expectations.conversations {
            for user in Expectations.users.indices {
                try await readHistory(of: conversation, for: user)
            }
            try await readPinned(of: conversation)
        }
        for user in Expectations.users.indices { try await readViews(of: user) }
        say("\(checker.sentTwice.count) messages were sent twice, and show as the earlier")
        let touched = load.expectations.messages.indices.filter {
            !load.expectations.messages[$0].edits.isEmpty
                || load.expectations.messages[$0].retracted != .never
        }
        var rest = touched[...]
        while !rest.isEmpty {
            try await readEdits(of: Array(rest.prefix(Self.askedAtOnce)))
            rest = rest.dropFirst(Self.askedAtOnce)
        }
    }

    private func readHistory(of conversation: Int, for user: Int) async throws(BenchError) {
        var first: [ArraySlice<UInt8>] = []
        for (number, node) in nodes.enumerated() {
            let lines = try await history(of: conversation, for: user, on: self.lines[number])
            // Every node is compared with the first, and checked itself where it differs.
            if number > 0 {
                let difference = ChaosChecker.difference(
                    first, lines, between: [nodes[0].name, node.name])
                guard let difference else { continue }
                load.report(difference)
            } else {
                first = lines
            }
            let parsed = lines.compactMap { HistoryLine($0) }
            if parsed.count != lines.count { load.report("\(node.name): lines that are none") }
            if number == 0 { views[user].histories[conversation] = parsed }
            // A user outside the conversation gets no lines; `CHATS` shows whether they are in it.
            if number == 0, user == Expectations.creator {
                checker.takeTimes(of: parsed, in: conversation)
            }
            if parsed.isEmpty, !Expectations.isFounder(user) { continue }
            let findings = checker.findings(
                inHistory: parsed, of: conversation, for: user, on: node.name)
            for finding in findings { load.report(finding) }
        }
    }

    /// Reads all pages from the end backwards, and checks each page once more forwards.
    private func history(
        of conversation: Int, for user: Int, on line: LineConnection
    ) async throws(BenchError) -> [ArraySlice<UInt8>] {
        let request =
            "HISTORY \(Expectations.name(ofConversation: conversation)) "
            + "\(Expectations.users[user]) limit=\(Self.pageLines)"
        var pages: [[ArraySlice<UInt8>]] = []
        var before = ""
        while true {
            let page = try await cluster.ask(request + before, on: line).dataLines
            guard let first = page.first, let oldest = HistoryLine(first) else { break }
            if let last = pages.last {
                let forward = try await cluster.ask("\(request) after=\(oldest.id)", on: line)
                let expected = (page.dropFirst() + last).prefix(Self.pageLines)
                if forward.dataLines != Array(expected) {
                    load.report("\(request) after=\(oldest.id) is not what before= showed")
                }
            }
            pages.append(page)
            before = " before=\(oldest.id)"
            if page.count < Self.pageLines { break }
        }
        return pages.reversed().flatMap(\.self)
    }

    private func readPinned(of conversation: Int) async throws(BenchError) {
        let user = Expectations.users[Expectations.creator]
        let request = "PINNED \(Expectations.name(ofConversation: conversation)) \(user)"
        let pages = try await same([request])
        let lines = pages[0].compactMap { HistoryLine($0) }
        let findings = checker.findings(inPinned: lines, of: conversation, on: nodes[0].name)
        for finding in findings { load.report(finding) }
    }

    private func readViews(of user: Int) async throws(BenchError) {
        let name = Expectations.users[user]
        let replies = try await same(
            ["all", "active", "archived"].map { "CHATS \(name) show=\($0)" } + ["UNREAD \(name)"])
        let lists = replies.map { $0.compactMap { ChatLine($0) } }
        views[user].all = lists[0]
        views[user].active = lists[1]
        views[user].archived = lists[2]
        for line in replies[3] {
            guard case .data("UNREAD", let fields) = ReplyLine(line),
                let conversation = fields["conversation"]
            else { continue }
            views[user].unread[conversation] = fields["count"].flatMap { Int($0) }
        }
        let findings = checker.findings(inViews: views[user], of: user, on: nodes[0].name)
        for finding in findings { load.report(finding) }
    }

    /// Sends the same requests to every node, and reports differences between the replies.
    ///
    /// - Returns: the data lines of the first node.
    private func same(_ requests: [String]) async throws(BenchError) -> [[ArraySlice<UInt8>]] {
        var first: [[ArraySlice<UInt8>]] = []
        for (number, node) in nodes.enumerated() {
            var replies = try await cluster.askAll(requests, on: lines[number])
            // A list may be partial once on a busy machine, but not each time.
            for _ in 0..<Self.partialRepeatsMax
            where replies.contains(where: { $0.ok?.isTrue("partial") == true }) {
                replies = try await cluster.askAll(requests, on: lines[number])
            }
            for (request, reply) in zip(requests, replies)
            where !reply.isOK || reply.ok?.isTrue("partial") == true {
                load.report("\(node.name) answers '\(request)' with \(reply.statusText)")
            }
            let shown = replies.map(\.dataLines)
            if number == 0 { first = shown }
            for (request, (one, other)) in zip(requests, zip(first, shown)) {
                let difference = ChaosChecker.difference(
                    one, other, between: [nodes[0].name, node.name])
                if let difference { load.report("\(request): \(difference)") }
            }
        }
        return first
    }

    private func readEdits(of messages: [Int]) async throws(BenchError) {
        let requests = messages.map { index in
            let conversation = load.expectations.messages[index].conversation
            return "EDITS \(Expectations.name(ofConversation: conversation)) "
                + "\(Expectations.id(of: index)) \(Expectations.users[0])"
        }
        var first: [LineReply] = []
        for (number, node) in nodes.enumerated() {
            let replies = try await cluster.askAll(requests, on: lines[number])
            if number == 0 { first = replies }
            for (index, reply) in zip(messages, replies) {
                guard reply.isOK else {
                    if load.expectations.messages[index].sent.isCertain {
                        load.report(
                            "\(node.name): EDITS of \(Expectations.id(of: index)): "
                                + reply.statusText
                        )
                    }
                    continue
                }
                let texts = reply.data("EDIT").compactMap { $0["text"] }
                let findings = checker.findings(inEdits: texts, of: index, on: node.name)
                for finding in findings { load.report(finding) }
            }
            if replies != first { load.report("n1 and \(node.name) answer EDITS differently") }
        }
    }
}
