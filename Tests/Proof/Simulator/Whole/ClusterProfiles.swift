import LineProtocol

/// Profiles: set in some runs, and announced to those who share a conversation.
extension ClusterWorld {
    /// The percentage of requests that set a profile, in those runs.
    private static let profilesPercent = 6
    /// The limit of the time in the quiet phase until a profile is announced to all entitled
    /// watchers, in microseconds: a disconnected watcher returns within half a second, and shards
    /// that could not be asked are asked again after one.
    private static let profileMicroseconds: UInt64 = 10_000_000
    /// A user who is in no conversation.
    private static let stranger = "stranger"

    /// Draws a request that sets a profile; nil in most cases.
    func profileRequest(_ client: ClusterClient) -> ClusterRequest? {
        guard plan.setsProfiles, profileRandom.chance(percent: ClusterWorld.profilesPercent) else {
            return nil
        }
        let isStranger = profileRandom.chance(percent: 30)
        return profileLine(of: isStranger ? ClusterWorld.stranger : client.user)
    }

    private func profileLine(of user: String) -> ClusterRequest {
        ClusterRequest(.profile, "PROFILE \(user) name=\(expectations.nameProfile(of: user))")
    }

    // MARK: Events

    /// Checks that a profile was requested so, and that the watcher may know it.
    func judgeProfile(_ event: ReplyFields, for watcher: ClusterWatcher) {
        let user = event["user"] ?? ""
        guard user != ClusterWorld.stranger else {
            return fail(.sound, "\(watcher.user) is told the profile of a stranger")
        }
        judgeProfile(event)
    }

    private func judgeProfile(_ fields: ReplyFields) {
        let (user, name) = (fields["user"] ?? "", fields["name"] ?? "")
        if !expectations.isProfileName(name, of: user) {
            fail(.sound, "\(user) is called '\(name)', which nobody asked for")
        }
    }

    // MARK: The quiet phase

    /// Checks that a profile is soon announced to all watchers, including those that were away and
    /// return with their tokens.
    func checkProfiles() {
        for (index, machine) in members.enumerated() where !watchers.isEmpty && finding == nil {
            checkProfile(setAt: machine, away: { ($0 + index) % 2 == 1 })
        }
    }

    private func checkProfile(setAt machine: ClusterMachine, away isAway: (Int) -> Bool) {
        for watcher in watchers where isAway(watcher.index) {
            if let visit = watcher.visit, visit.session != nil { leave(visit) }
        }
        let user = ClusterClient.user(machine.index % plan.clients)
        let lines = [
            ClusterRequest(.set, "SET ack=all"), profileLine(of: ClusterWorld.stranger),
            profileLine(of: user),
        ]
        for answer in needed(lines, of: machine.index, as: user) where answer.code != nil {
            fail(.answered, "\(machine.name) refuses a profile in the quiet: \(answer.summary)")
        }
        let name = expectations.profileNames[user]?.last
        let isTold = run(until: now + ClusterWorld.profileMicroseconds) { [watchers] in
            watchers.allSatisfy { $0.expectations.profiles[user] == name }
        }
        if let watcher = watchers.first(where: { $0.expectations.profiles[user] != name }), !isTold
        {
            fail(
                .reads,
                "\(watcher.user) watches, and takes \(user) for "
                    + "\(watcher.expectations.profiles[user] ?? "nobody"), not \(name ?? "nobody")")
        }
        coverage.count("profile told in the quiet")
        for other in members where finding == nil {
            let answers = needed([ClusterRequest(.profile, "PROFILE \(user)")], of: other.index)
            for answer in answers where answer.lines("PROFILE").first?["name"] != name {
                fail(.equal, "\(other.name) shows another profile of \(user) than was set")
            }
        }
    }
}
