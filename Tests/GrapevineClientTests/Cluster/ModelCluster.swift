import Foundation
import TestKit

@testable import GrapevineClient

/// A cluster in memory, whose network delays, loses and repeats as a seed says.
final class ModelCluster {
    /// Something that the model does wrong on purpose, to show that the checks find it.
    enum Fault: CaseIterable {
        /// Writes are answered with 200 and not executed.
        case writesLost
        /// Streams leave events out.
        case eventsLost
        /// A write that is repeated is executed again, with another time.
        case writesRepeated
        /// Deletions for everyone come back as they were.
        case deletionsForgotten
        /// Answers include the first token of a request and no other, as if the client had named
        /// the last event's alone.
        case laterTokensIgnored
        /// Clients forget, when they end, which rows are to be read.
        case staleRowsForgotten
        /// Clients forget, when they end, that sure answers have to include their own accepted
        /// changes of conversations.
        case ownChangesForgotten

        /// The seed that is tried first: it finds a fault that few seeds find.
        var seed: UInt64 {
            switch self {
            case .eventsLost: 43
            case .laterTokensIgnored: 20
            case .ownChangesForgotten: 98
            case .staleRowsForgotten: 70
            default: 1
            }
        }
    }

    /// Seconds that an access token lives, fewer than in reality, so that many are renewed.
    private static let tokenSeconds: Int64 = 120
    /// Milliseconds after which an operation is executed no more, fewer than in reality.
    static let operationAge: Int64 = 60_000
    /// Milliseconds by which an operation's time may be ahead.
    static let operationLead: Int64 = 500

    struct Access {
        let user: String
        let end: Int64
        let signIn: Int
    }

    private struct Renewal {
        let user: String
        let signIn: Int
        var name: String?
        var next: ModelJSON?
    }

    let clock: VirtualClock
    var random: SplitMix64
    let nodes: [ModelNode]
    var fault: Fault?
    private var access: [String: Access] = [:]
    private var renewals: [String: Renewal] = [:]
    private var ended: Set<Int> = []
    private var count = 0
    /// Whether the network is as it should be; a test ends so.
    var isCalm = true
    /// Whether streams do not resume: their tokens are refused.
    var refusesTokens = false
    /// Renewals that ended a sign-in.
    private(set) var stolen = 0
    /// Whether the tokens of a node that lags leave out what a client was told elsewhere.
    var lowersTokens = false
    let journal = ModelJournal()
    var trace: (@autoclosure () -> String) -> Void = { _ in }

    init(_ clock: VirtualClock, seed: UInt64, nodes count: Int = 3) {
        self.clock = clock
        random = SplitMix64(seed: seed)
        nodes = (0..<count).map { ModelNode($0, of: count) }
    }

    func create(_ title: String, _ users: [String]) {
        let asked = ModelChange(
            kind: .create, by: users[0], conversation: title, text: title, users: users)
        let change = nodes[0].accept(asked, stamp: nil, now: clock.now)
        for node in nodes.dropFirst() { node.receive(change) }
    }

    func kill(_ index: Int) {
        let node = nodes[index]
        node.kill()
        for stream in node.watchers { stream.cut() }
    }

    /// Has each node fetch what it lacks from some other one.
    func replicate() {
        for node in nodes {
            let from = random.pick(nodes)
            guard node.isRunning, from.isRunning else { continue }
            for change in from.log { node.receive(change) }
        }
    }

    /// Refuses a token, as a cluster does that was set up anew: all nodes have the same then, or an
    /// answer without the token would say less than the client has shown.
    func refuseToken() {
        for node in nodes {
            for other in nodes { for change in other.log { node.receive(change) } }
        }
    }

    /// Milliseconds that something is under way.
    func delay() -> Int64 {
        if isCalm { return 5 }
        let dice = random.below(100)
        if dice < 2 { return 30_000 }
        return Int64(dice < 15 ? 200 + random.below(2_500) : 2 + random.below(60))
    }

    /// Whether something that happens with a probability in percent happens now.
    func happens(_ percent: Int) -> Bool { !isCalm && random.chance(percent) }

    // MARK: Access

    func access(_ token: String?) -> Access? {
        guard let known = token.flatMap({ access[$0] }), known.end >= clock.now,
            !ended.contains(known.signIn)
        else { return nil }
        return known
    }

    /// Signs a user in on a device.
    func signIn(_ user: String, deviceTime: Int64) -> SignIn {
        count += 1
        let (access, refresh) = newTokens(user, signIn: count)
        return SignIn(
            user: user, email: user + "@example.org", accessToken: access, refreshToken: refresh,
            seconds: Self.tokenSeconds, now: deviceTime)
    }

    private func newTokens(_ user: String, signIn: Int) -> (access: String, refresh: String) {
        count += 1
        let tokens = (access: "access\(count)", refresh: "refresh\(count)")
        let end = clock.now + Self.tokenSeconds * 1_000
        access[tokens.access] = Access(user: user, end: end, signIn: signIn)
        renewals[tokens.refresh] = Renewal(user: user, signIn: signIn)
        return tokens
    }

    func renew(_ token: String, as name: String) -> Response {
        guard var renewal = renewals[token], !ended.contains(renewal.signIn) else {
            return .refused(401, "Signed out")
        }
        if let known = renewal.name, known != name {
            ended.insert(renewal.signIn)
            stolen += 1
            return .refused(401, "The refresh token was used before; the sign-in has ended")
        }
        renewal.name = name
        if renewal.next == nil {
            let tokens = newTokens(renewal.user, signIn: renewal.signIn)
            renewal.next = ModelJSON([
                "user": .text(renewal.user), "accessToken": .text(tokens.access),
                "refreshToken": .text(tokens.refresh),
                "expiresIn": .number(Int(Self.tokenSeconds)),
            ])
        }
        renewals[token] = renewal
        return Response(renewal.next ?? ModelJSON())
    }
}

extension Response {
    init(_ json: ModelJSON, status: Int = 200) {
        self.init(status: status, body: Data(json.text.utf8))
    }

    static func refused(
        _ status: Int, _ message: String, reason: String = "", now: Int64? = nil
    ) -> Response {
        var error = ModelJSON([
            "code": .number(status), "message": .text(message), "reason": .text(reason),
        ])
        error["now"] = now.map { .time(ExactTime(milliseconds: $0)) }
        return Response(ModelJSON(["error": .object(error)]), status: status)
    }
}

/// What clients have asked of all nodes, by the identities of their operations.
final class ModelJournal {
    private struct Entry {
        var asked: String
        var lane: String
        var times: [ExactTime]
        /// Whether nodes have said that they execute the operation no more.
        var isExpired = false
    }

    private var entries: [String: Entry] = [:]
    /// What clients did wrong with the identities of their operations.
    private(set) var misnamed: [String] = []

    /// Notes the identity of a request that has arrived.
    func note(_ operation: String?, _ asked: String, lane: String) {
        guard let operation, let stamp = ModelStamp(operation) else {
            return misnamed.append("\(asked) has no stamp")
        }
        guard var entry = entries[stamp.name] else {
            entries[stamp.name] = Entry(asked: asked, lane: lane, times: [stamp.time])
            return
        }
        if entry.asked != asked {
            misnamed.append("\(stamp.name) \(asked) was \(entry.asked)")
        }
        if !entry.times.contains(stamp.time) {
            if !entry.isExpired { misnamed.append("\(stamp.name) \(asked) has two times") }
            entry.times.append(stamp.time)
        }
        entries[stamp.name] = entry
    }

    func noteExpired(_ operation: String?) {
        guard let stamp = operation.flatMap(ModelStamp.init) else { return }
        entries[stamp.name]?.isExpired = true
    }

    /// The time of an operation that nodes execute no more, by its name.
    func expired(_ name: String) -> ExactTime? {
        entries[name].flatMap { $0.isExpired ? $0.times[0] : nil }
    }

    /// Operations of one lane of a device whose times do not follow their numbers.
    var disordered: [String] {
        var last: [String: ExactTime] = [:]
        var found: [String] = []
        let named = entries.compactMap { name, entry in
            ModelStamp(name + "." + ExactTime.zero.description).map { ($0, entry) }
        }
        for (stamp, entry) in named.sorted(by: { $0.0.number < $1.0.number })
        where !entry.isExpired {
            let lane = stamp.device + " " + entry.lane
            if let before = last[lane], entry.times[0] <= before { found.append(stamp.name) }
            last[lane] = entry.times[0]
        }
        return found
    }

    var isEmpty: Bool { entries.isEmpty }
}

/// The parts of the identity of an operation.
struct ModelStamp {
    let device: String
    let number: UInt64
    let time: ExactTime
    var name: String { "\(device).\(number)" }

    init?(_ operation: String) {
        let parts = operation.split(separator: ".", maxSplits: 2).map(String.init)
        guard parts.count == 3, let number = UInt64(parts[1]), let time = ExactTime(parts[2])
        else { return nil }
        (device, self.number, self.time) = (parts[0], number, time)
    }
}
