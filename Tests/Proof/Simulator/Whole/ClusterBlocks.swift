import LineProtocol

/// A user who blocks another, in some runs beside everything else: the two have a conversation with
/// a third.
///
/// The invariants, in the quiet: all nodes show the one who blocks the same, which is what they
/// show the third without what the blocked one sent since the block, and count it in the same way.
extension ClusterWorld {
    private static let blocksPercent = 10
    private static let room = "blocked"
    private static let (blocker, blocked, third) = ("mia", "eve", "max")

    /// Draws a request of these three; nil in most cases.
    func blockRequest() -> ClusterRequest? {
        guard plan.blocksUsers, blockRandom.chance(percent: ClusterWorld.blocksPercent) else {
            return nil
        }
        let (room, blocker, blocked) = (
            ClusterWorld.room, ClusterWorld.blocker, ClusterWorld.blocked
        )
        switch blockRandom.below(12) {
        case 0:
            return blockRequest("CREATE", "\(room) \(blocked),\(ClusterWorld.third),\(blocker)")
        case 1, 2: return blockRequest("BLOCKUSER", "\(blocker) \(blocked)")
        case 3: return blockRequest("UNBLOCKUSER", "\(blocker) \(blocked)")
        case 4..<10:
            let sender = blockRandom.pick([blocked, blocked, ClusterWorld.third])
            roomMessages += 1
            return blockRequest("SEND", "\(room) \(sender) id=s\(roomMessages) text")
        case 10: return blockRequest("HISTORY", "\(room) \(blocker)")
        default: return blockRequest("UNREAD", blocker)
        }
    }

    private func blockRequest(_ verb: String, _ rest: String) -> ClusterRequest {
        ClusterRequest(.blocks(verb: verb), "\(verb) \(rest)")
    }

    /// Checks in the quiet what all nodes show the one who blocks.
    func checkBlocks() {
        guard plan.blocksUsers else { return }
        let (room, blocker) = (ClusterWorld.room, ClusterWorld.blocker)
        let requests = [
            blockRequest("BLOCKED", blocker),
            blockRequest("HISTORY", "\(room) \(ClusterWorld.third) limit=1000"),
            blockRequest("HISTORY", "\(room) \(blocker) limit=1000"),
            blockRequest("UNREAD", blocker), blockRequest("CHATS", blocker),
        ]
        var first: [[ReplyLine]] = []
        for machine in members where finding == nil {
            let answers = needed(requests, of: machine.index, as: blocker)
            guard answers.count == requests.count else { return }
            if first.isEmpty { first = answers.map(\.data) }
            guard answers.map(\.data) == first else {
                return fail(
                    .equal, "\(machine.name) shows \(blocker) \(answers), another \(first)")
            }
            if let wrong = fault(inBlocked: answers) {
                return fail(.reads, "\(machine.name) shows \(blocker) \(wrong)")
            }
        }
    }

    /// Describes what is wrong with what is shown; nil if nothing is.
    private func fault(inBlocked answers: [ClusterAnswer]) -> String? {
        let since = answers[0].lines("BLOCKED").first?["at"]
        let (all, shown) = (answers[1].lines("MESSAGE"), answers[2].lines("MESSAGE"))
        let ids = Set(shown.map { $0["id"] ?? "" })
        for line in all {
            let (id, at) = (line["id"] ?? "", line["at"] ?? "")
            // The block and a message of its millisecond may be in either order.
            guard let since, line["from"] == ClusterWorld.blocked, at >= since else {
                if !ids.contains(id) { return "no \(id)" }
                continue
            }
            if at > since, ids.contains(id) { return "\(id), which was sent behind the block" }
        }
        if !ids.isSubset(of: all.map { $0["id"] ?? "" }) { return "what nobody else is shown" }
        let counts = answers[3].lines("UNREAD").filter { $0["conversation"] == ClusterWorld.room }
        let unread = counts.first?["count"].flatMap { Int($0) } ?? 0
        if unread != shown.count { return "\(unread) unread, of \(shown.count)" }
        let chats = answers[4].lines("CHAT").filter { $0["id"] == ClusterWorld.room }
        let last = chats.first?["last"]
        if last != shown.last?["id"] { return "\(last ?? "nothing") as the last message" }
        coverage.count(shown.count < all.count ? "hidden by a block" : "nothing hidden by a block")
        return nil
    }
}
