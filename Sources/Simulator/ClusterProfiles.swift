import LineProtocol

/// Profiles: set in some runs, and told to those who share a conversation.
extension ClusterWorld {
    /// How often a client sets one, in those runs.
    private static let profilesPercent = 6
    /// How long it may take in the quiet until all who are to be told a profile are, in
    /// microseconds: who left comes back within half a second, and what shards could not be asked
    /// for is asked again after one.
    private static let profileMicroseconds: UInt64 = 10_000_000
    /// Somebody in no conversation.
    private static let stranger = "stranger"

    /// Nil where it asks for something else.
    func profileRequest(_ client: ClusterClient) -> ClusterRequest? {
        guard plan.setsProfiles, profileRandom.chance(percent: ClusterWorld.profilesPercent) else {
            return nil
        }
        let isStranger = profileRandom.chance(percent: 30)
        return profileLine(of: isStranger ? ClusterWorld.stranger : client.user)
    }

    private func profileLine(of user: String) -> ClusterRequest {
        ClusterRequest(.profile, "PROFILE \(user) name=\(book.nameProfile(of: user))")
    }

    // MARK: What is told

    /// Whether a profile is what somebody made of it, and a watcher's to know.
    func judgeProfile(_ event: ReplyFields, for watcher: ClusterWatcher) {
        let user = event["user"] ?? ""
        guard user != ClusterWorld.stranger else {
            return fail(.sound, "\(watcher.user) is told the profile of a stranger")
        }
        judgeProfile(event)
    }

    private func judgeProfile(_ fields: ReplyFields) {
        let (user, name) = (fields["user"] ?? "", fields["name"] ?? "")
        if !book.isProfileName(name, of: user) {
            fail(.sound, "\(user) is called '\(name)', which nobody asked for")
        }
    }

    // MARK: In the quiet

    /// A profile that is set is soon told to all who watch, and to those who were away with their
    /// tokens.
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
        let name = book.profileNames[user]?.last
        let isTold = run(until: now + ClusterWorld.profileMicroseconds) { [watchers] in
            watchers.allSatisfy { $0.book.profiles[user] == name }
        }
        if let watcher = watchers.first(where: { $0.book.profiles[user] != name }), !isTold {
            fail(
                .reads,
                "\(watcher.user) watches, and takes \(user) for "
                    + "\(watcher.book.profiles[user] ?? "nobody"), not \(name ?? "nobody")")
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
