import LineProtocol

/// A client's knowledge of messages: a connection that begins with a token must not show less.
struct ClusterKnowledge {
    /// The messages that were shown or acknowledged.
    var present: Set<ClusterMessage.Name> = []
    /// The messages that were deleted for everyone.
    var retracted: Set<ClusterMessage.Name> = []
    /// The conversations and action items that lists have shown.
    var chats: Set<String> = []
    var items: Set<String> = []

    mutating func formUnion(_ other: ClusterKnowledge) {
        present.formUnion(other.present)
        retracted.formUnion(other.retracted)
        chats.formUnion(other.chats)
        items.formUnion(other.items)
    }
}

/// A token, with its client's knowledge at the time of its issue.
struct ClusterToken {
    let text: String
    let knowledge: ClusterKnowledge
}

/// The clients' use of tokens across nodes.
extension ClusterWorld {
    /// Sends a client's first line on a connection: `SINCE`, if it has a token, with 70 %
    /// probability.
    func greet(_ client: ClusterClient) {
        guard let visit = client.visit, let token = client.token,
            clientRandom.chance(percent: 70)
        else { return }
        ask([ClusterRequest(.since(token), "SINCE \(token.text)")], on: visit)
    }

    /// Records what a client learns from an answer.
    func noteKnown(_ answer: ClusterAnswer, _ request: ClusterRequest, on visit: ClusterVisit) {
        switch request.kind {
        case .send(let name): visit.known.present.insert(name)
        case .retract(let name): visit.known.retracted.insert(name)
        case .token:
            let token = answer.fields?["token"].map {
                ClusterToken(text: $0, knowledge: visit.known)
            }
            for client in clients where client.visit === visit { client.token = token }
        case .since(let token):
            visit.known.formUnion(token.knowledge)
            visit.goesForward = true
        default: break
        }
    }

    /// Records what a client is shown, and checks that it is not older than its knowledge.
    func judgeForward(
        _ answer: ClusterAnswer, of conversation: String, isWhole: Bool, on visit: ClusterVisit
    ) {
        var shown: [String: Bool] = [:]
        for line in answer.lines("MESSAGE") {
            shown[line["id"] ?? ""] = line.isTrue("deletedForEveryone")
        }
        if visit.goesForward, !hasMoved {
            for name in visit.known.present.sorted() where name.conversation == conversation {
                judge(name, shown[name.id], isWhole: isWhole, on: visit)
            }
        }
        for (id, isDeleted) in shown {
            let name = ClusterMessage.Name(id: id, conversation: conversation)
            visit.known.present.insert(name)
            // A message that all participants have hidden shows as deleted, too, but may show
            // again.
            let isHidden =
                expectations.messages[id].map { $0.hidesAsked.count >= plan.clients } ?? true
            if isDeleted, !isHidden { visit.known.retracted.insert(name) }
        }
    }

    /// - Parameter isDeleted: whether it shows as deleted; nil if it does not show.
    private func judge(
        _ name: ClusterMessage.Name, _ isDeleted: Bool?, isWhole: Bool, on visit: ClusterVisit
    ) {
        // A message that was lost with a disk may be missing from the answer and yet be on a disk
        // by now: a later request of the same pipeline sent it again, or a frame was under way.
        guard !losses.concern(name) else { return }
        switch isDeleted {
        case nil
        where isWhole && !(expectations.messages[name.id]?.hidesAsked.contains(visit.user) ?? true):
            guard isOnSomeDisk(name, .sent) else { return }
            fail(.reads, "\(name.id) was shown or acknowledged, and is missing after SINCE")
        case false? where visit.known.retracted.contains(name):
            guard isOnSomeDisk(name, .retracted) else { return }
            fail(.reads, "\(name.id) was deleted, and shows again after SINCE")
        default: return
        }
    }
}
