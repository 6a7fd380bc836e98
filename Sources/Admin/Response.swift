import CRDT
import Chat
import LineProtocol
import Node
import Replication
import Wire

/// The response to a request, before it is encoded as lines or JSON for the client.
package enum Response: Sendable {
    /// The request was executed, and the response contains only a success status.
    case done
    case failed(LineError)
    indirect case found(Listing)
    case written(Acknowledgement)
    /// A token of all changes that the connection has seen.
    case token(Token)
    /// The watch has begun, and events follow.
    indirect case watching(StreamStart, isExact: Bool)
    /// The number of owners that store the connection's writes.
    case copies(Int)
    /// The acknowledgement level of the connection's later writes.
    case level(Request.SetLevel)
    /// The case is indirect, since a report is large and each unanswered request reserves a
    /// response.
    indirect case report(Report)

    /// The acknowledgement of a write, with the number of owners that store the write.
    package struct Acknowledgement: Sendable {
        package let receipt: Receipt
        package let stored: Stored
        let times: AckTimes

        /// The time of the write's effect; nil if the acknowledgement does not show it.
        var at: HybridTimestamp? {
            receipt.editedAt ?? receipt.sentAt
                ?? (times == .standard ? nil : receipt.changedAt)
        }
    }

    /// The description by a node of its own state, or of its part in the cluster.
    package enum Report: Sendable {
        case pong
        case node(NodeReport)
        case members([MemberReport])
        case shards([ShardReport])
        case digests([DigestReport])
        case vector([ReplicaChanges])
        case subscribers([Subscriber], isFirst: Bool)
        case files([DueFileReport])
        case verbs([Verb])
        case limits([Limit])
        /// Metrics in the format of Prometheus.
        case metrics([UInt8])
        case scrub(ScrubReport)
        case backup(BackupReport)
    }

    /// The text of the token that the response contains; nil for a response without a token.
    package var tokenText: String? {
        switch self {
        case .token(let token): token.text
        case .watching(let start, _): start.token
        case .done, .failed, .found, .written, .copies, .level, .report: nil
        }
    }

    /// The error of a failed request; nil for a successful request.
    package var error: LineError? { if case .failed(let error) = self { error } else { nil } }
}

extension Response {
    /// - Parameter page: the part of a list that the client requested.
    init(_ completion: Completion, _ page: ListPage) {
        switch completion {
        case .found(let findings, let isPartial):
            self = .found(Listing(findings, page, isPartial: isPartial))
        case .done: self = .done
        case .failed(let failure): self = .failed(LineError(failure))
        case .written: preconditionFailure("a write is acknowledged with its copies")
        }
    }

    /// Creates the response to a write; the write stays stored even if the response is 504.
    init(to receipt: Receipt, _ stored: Stored, isStrict: Bool, times: AckTimes = .standard) {
        guard !isStrict || stored.isEnough else {
            self = .failed(LineError(504, "Stored on \(stored.on) of \(stored.owners) owners"))
            return
        }
        self = .written(Acknowledgement(receipt: receipt, stored: stored, times: times))
    }

    /// Creates the response to a request from its result, except from a write's own receipt.
    package init(_ outcome: ReplyResult, _ page: ListPage = .whole) {
        switch outcome {
        case .answered(let completion, _): self.init(completion, page)
        case .failed(let failure): self = .failed(LineError(.store(failure)))
        case .scrubbed(let report): self = .report(.scrub(report))
        case .backedUp(let report): self = .report(.backup(report))
        case .refused(let failure): self = .failed(LineError(failure))
        case .watching(let start): self = .watching(start, isExact: page.isExact)
        case .level: self = .done
        case .copies(let copies, isEnough: true): self = .copies(copies)
        case .copies(let copies, isEnough: false):
            self = .failed(LineError(504, "Stored on \(copies) owners, not on as many as asked"))
        case .stored: preconditionFailure("a response is settled by what it waits for")
        }
    }
}

// MARK: Lines

extension Response {
    /// The response as lines of the line protocol, and the error if the lines are an error.
    package var lines: (bytes: [UInt8], error: LineError?) {
        if let error { return (error.reply, error) }
        var writer = ReplyWriter(reserving: max(96, min(roughBytes, LineLimits.replyBytesMax)))
        switch self {
        case .report(.pong): writer.ok(word: "pong")
        case .report(.metrics(let text)):
            writer.raw(text)
            writer.ok()
        default: write(to: &writer)
        }
        guard !writer.isTooLong else {
            return (LineError.replyTooLong.reply, .replyTooLong)
        }
        return (writer.removeAll(), nil)
    }

    /// The approximate size of the response's lines in bytes; 0 for a small response.
    package var roughBytes: Int {
        if case .found(let listing) = self { listing.roughBytes } else { 0 }
    }
}

extension Response {
    /// Writes the rows of a successful response, the last of which is the status.
    func write(to writer: inout some RowWriter) {
        switch self {
        case .done: writer.row("OK") { _ in }
        case .failed: preconditionFailure("an error has no rows")
        case .found(let listing): listing.write(to: &writer)
        case .written(let acknowledgement):
            writer.isExact = acknowledgement.times == .exact
            writer.row(acknowledgement, as: .acknowledgement)
        case .token(let token): writer.row(token.text, as: .token)
        case .watching(let start, let isExact):
            writer.isExact = isExact
            writer.row(start, as: .watching)
        case .copies(let copies): writer.row(copies, as: .copies)
        case .level(let level): writer.row(level, as: .level)
        case .report(let report): report.write(to: &writer)
        }
    }
}

extension Response.Report {
    func write(to writer: inout some RowWriter) {
        switch self {
        case .pong, .metrics: preconditionFailure("no rows")
        case .node(let report): writer.row(report, as: .node)
        case .members(let members): writer.rows(members, as: .member)
        case .shards(let shards): writer.rows(shards, as: .shard)
        case .digests(let digests):
            writer.rows(digests, as: .digest)
            return writer.row(Node.digest(over: digests), as: .digestOfAll)
        case .vector(let changes): writer.rows(changes, as: .vector)
        case .subscribers(let subscribers, let isFirst):
            writer.rows(subscribers, as: .subscriber)
            return writer.row(isFirst, as: .isFirst)
        case .files(let files): writer.rows(files, as: .due)
        case .verbs(let verbs): writer.rows(verbs, as: .verb)
        case .limits(let limits): writer.rows(limits, as: .limit)
        case .scrub(let report): return writer.row(report, as: .scrub)
        case .backup(let report): return writer.row(report, as: .backup)
        }
        writer.row("OK") { _ in }
    }
}

// MARK: Statuses

extension View where Subject == Response.Acknowledgement {
    static let acknowledgement = View(
        "OK",
        [
            .name("id") { $0.receipt.message?.text ?? $0.receipt.item?.text },
            .time("at") { $0.at },
            .number("stamp") { $0.receipt.accountStamp },
            .copies("replicas") {
                $0.receipt.message == nil ? nil : ($0.stored.on, $0.stored.owners)
            },
            .count("unread") { $0.receipt.unread },
        ])
}

extension View where Subject == String {
    static let token = View("OK", [.text("token") { (token: String) -> String? in token }])
}

extension View where Subject == StreamStart {
    static let watching = View(
        "OK",
        [
            .text("token") { (watching: StreamStart) -> String? in watching.token },
            .name("stream") { $0.stream?.id.text },
            .number("editWindow") { $0.stream?.editWindowMilliseconds },
            .time("now") { $0.stream.map { HybridTimestamp(milliseconds: $0.wallMilliseconds) } },
        ])
}

extension View where Subject == Int {
    static let copies = View("OK", [.count("replicas") { $0 }])
}

extension View where Subject == Request.SetLevel {
    static let level = View(
        "OK", [.text("ack") { $0.level.rawValue }, .flag("strict") { $0.isStrict }])
}

extension View where Subject == Hash128 {
    static let digestOfAll = View("OK", [.text("digest") { $0.description }])
}

extension View where Subject == Bool {
    static let isFirst = View("OK", [.flag("first") { $0 }])
}
