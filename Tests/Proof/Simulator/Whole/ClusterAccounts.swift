import LineProtocol

/// One line about the account of a client's user.
enum AccountDeed {
    case add
    case setPassword
    case begin(String)
    case end(String)
    case revoke(String)
    case renew(String)
    case show
    case revocations

    var name: String {
        switch self {
        case .add: "ACCOUNT ADD"
        case .setPassword: "ACCOUNT PASSWORD"
        case .begin: "SIGNIN ADD"
        case .end: "SIGNIN END"
        case .revoke: "REVOKE"
        case .renew: "SIGNIN RENEW"
        case .show: "ACCOUNTS"
        case .revocations: "KEYS"
        }
    }

    var noun: String {
        switch self {
        case .show: "ACCOUNT"
        case .revocations: "REVOKED"
        default: ""
        }
    }

    var codes: [Int] {
        switch self {
        case .add: [503]
        case .setPassword: [404, 503]
        case .begin: [401, 404, 503]
        case .renew: [401, 503]
        case .end, .revoke, .show: [503]
        case .revocations: []
        }
    }
}

/// A sign-in that was acknowledged, as the clients know it.
struct ClusterSignIn {
    let user: String
    /// The password by which it was judged.
    let password: String
    /// The time of the answer's change, as the node told it.
    let stamp: String
    var isEndAsked = false
    var isEnded = false
    var isRevoked = false
}

/// The requests for an account of a user, as the clients know them.
struct ClusterSignUps {
    /// The number of those that may have been carried out, or not.
    var unanswered = 0
    /// The times of the accounts that the answers told; more than one on two sides of a cut.
    var stamps: Set<String> = []
}

/// Accounts, their sign-ins and the revocations of access tokens, in some runs.
///
/// The invariants: an acknowledged end of a sign-in holds for good and at all nodes, whatever they
/// knew; a sign-in ends with the password by which it was judged; every node has every revocation.
extension ClusterWorld {
    /// The percentage of requests that concern accounts, in those runs.
    private static let accountsPercent = 20

    /// Draws a request about the account of a client's user; nil in most cases.
    func accountRequest(_ client: ClusterClient) -> ClusterRequest? {
        guard plan.hasAccounts, accountRandom.chance(percent: ClusterWorld.accountsPercent) else {
            return nil
        }
        let user = client.user
        let mine = signIns.filter { $0.value.user == user && !$0.value.isRevoked }.map(\.key)
            .sorted { ($0.count, $0) < ($1.count, $1) }
        // The latest are those that other nodes may not know yet.
        let latest = accountRandom.chance(percent: 60) ? Array(mine.suffix(2)) : mine
        let id = latest.isEmpty ? nil : accountRandom.pick(latest)
        switch (accountRandom.below(10), id) {
        case (0..<2, _): return ask(.add, of: user)
        case (2, _): return ask(.setPassword, of: user)
        case (3..<6, let id?): return ask(.end(id), of: user)
        case (6, let id?) where signIns[id]?.isEndAsked == true: return ask(.revoke(id), of: user)
        case (7, let id?): return ask(.renew(id), of: user)
        default:
            signInsAsked += 1
            return ask(.begin("s\(signInsAsked)"), of: user)
        }
    }

    /// Returns the request of a deed, and records what it asks for.
    private func ask(_ deed: AccountDeed, of user: String) -> ClusterRequest {
        let place = "a-\(user) \(user)"
        func stamp(_ id: String) -> String { signIns[id]?.stamp ?? "0" }
        let line =
            switch deed {
            case .add: "ACCOUNT ADD \(place) email=\(user)@x.org password=p0"
            case .setPassword: "ACCOUNT PASSWORD \(place) password=\(nextPassword())"
            case .begin(let id): "SIGNIN ADD \(place) \(id) secret=r password=\(lastPassword)"
            case .end(let id): "SIGNIN END \(place) \(id) began=\(stamp(id))"
            case .revoke(let id): "REVOKE \(id) through=\(stamp(id))"
            case .renew(let id):
                "SIGNIN RENEW \(place) \(id) secret=r replaced=r issued=\(stamp(id)) "
                    + "began=\(stamp(id))"
            case .show: "ACCOUNTS a-\(user)"
            case .revocations: "KEYS"
            }
        if case .end(let id) = deed { signIns[id]?.isEndAsked = true }
        if case .add = deed { signUps[user, default: ClusterSignUps()].unanswered += 1 }
        return ClusterRequest(.account(deed, password: lastPassword), line)
    }

    private var lastPassword: String { "p\(passwords)" }

    private func nextPassword() -> String {
        passwords += 1
        return lastPassword
    }

    /// Checks an answer against what was acknowledged, and records what it acknowledges.
    func judgeAccount(_ answer: ClusterAnswer, _ request: ClusterRequest, on visit: ClusterVisit) {
        guard case .account(let deed, let password) = request.kind else { return }
        switch deed {
        case .add:
            guard let stamp = answer.fields?["stamp"] else { return }
            signUps[visit.user]?.unanswered -= 1
            signUps[visit.user]?.stamps.insert(stamp)
        case .begin(let id):
            guard let stamp = answer.fields?["stamp"] else { return }
            signIns[id] = ClusterSignIn(user: visit.user, password: password, stamp: stamp)
        case .end(let id): signIns[id]?.isEnded = true
        case .revoke(let id): signIns[id]?.isRevoked = true
        default: return
        }
    }

    // MARK: The quiet phase

    /// Checks that all nodes know the same accounts and revocations, and that what has ended does
    /// not go on.
    func checkAccounts() {
        guard plan.hasAccounts else { return }
        checkRevocations()
        for user in (0..<plan.clients).map(ClusterClient.user) {
            let shown = members.map { machine in
                needed([ask(.show, of: user)], of: machine.index, as: user).flatMap(\.data)
            }
            guard let first = shown.first, finding == nil else { return }
            if let other = shown.first(where: { $0 != first }) {
                fail(.level, "the account of \(user) is \(first) and \(other)")
            }
            guard case .data(_, let account)? = first.first else { continue }
            checkSignIns(of: user, account["password"] ?? "")
        }
    }

    private func checkRevocations() {
        let revoked = signIns.filter(\.value.isRevoked).map(\.key).sorted()
        for machine in members where finding == nil && disksLostAt.isEmpty && !hasMoved {
            let keys = ask(.revocations, of: ClusterClient.user(0))
            let known = needed([keys], of: machine.index).flatMap { $0.lines("REVOKED") }
                .compactMap { $0["name"] }
            guard let lacking = revoked.first(where: { !known.contains($0) }) else { continue }
            fail(.kept, "\(machine.name) lacks the revocation of \(lacking)")
        }
    }

    private func checkSignIns(of user: String, _ password: String) {
        for (id, signIn) in signIns.sorted(by: { $0.key < $1.key })
        where signIn.user == user && finding == nil {
            let machine = accountRandom.pick(members)
            let code = needed([ask(.renew(id), of: user)], of: machine.index, as: user).first?.code
            let isOver = signIn.isEnded || signIn.password != password
            if code == nil, isOver, disksLostAt.isEmpty, !hasMoved {
                fail(.deleted, "\(machine.name) renews \(id) of \(user), which has ended")
            }
            // Of sign-ups on two sides of a cut the later one's password counts, and ends what was
            // judged by the other.
            let isOne = signUps[user].map { $0.unanswered == 0 && $0.stamps.count == 1 } ?? false
            if code != nil, !isOver, !signIn.isEndAsked, passwords == 0, isOne,
                disksLostAt.isEmpty, !hasMoved
            {
                fail(.kept, "\(machine.name) does not renew \(id) of \(user): \(code ?? 0)")
            }
        }
    }
}
