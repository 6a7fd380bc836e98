import LineProtocol

/// What a client knows of messages: a connection that goes forward shows no less.
struct ClusterKnowledge {
    /// Messages that were shown, or acknowledged.
    var present: Set<ClusterMessage.Name> = []
    /// Those that were deleted for everyone.
    var retracted: Set<ClusterMessage.Name> = []

    mutating func formUnion(_ other: ClusterKnowledge) {
        present.formUnion(other.present)
        retracted.formUnion(other.retracted)
    }
}

/// A token, and what its client knew when it was given it.
struct ClusterToken {
    let text: String
    let knowledge: ClusterKnowledge
}

/// Clients that carry tokens from node to node.
extension ClusterWorld {
    /// What a client says first on a connection.
    func greet(_ client: ClusterClient) {
        guard let visit = client.visit, let token = client.token,
            clientRandom.chance(percent: 70)
        else { return }
        ask([ClusterRequest(.since(token), "SINCE \(token.text)")], on: visit)
    }

    /// Notes what a client learns from an answer.
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

    /// Notes what a client is shown, and whether it is older than what it knew.
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
            // Whom all have hidden shows as deleted, too, and need not for ever.
            let isHidden = book.messages[id].map { $0.hidesAsked.count >= plan.clients } ?? true
            if isDeleted, !isHidden { visit.known.retracted.insert(name) }
        }
    }

    /// - Parameter isDeleted: how it shows; nil where it does not.
    private func judge(
        _ name: ClusterMessage.Name, _ isDeleted: Bool?, isWhole: Bool, on visit: ClusterVisit
    ) {
        switch isDeleted {
        case nil
        where isWhole && !(book.messages[name.id]?.hidesAsked.contains(visit.user) ?? true):
            guard isOnSomeDisk(name, .sent) else { return }
            fail(.reads, "\(name.id) was shown or acknowledged, and is missing after SINCE")
        case false? where visit.known.retracted.contains(name):
            guard isOnSomeDisk(name, .retracted) else { return }
            fail(.reads, "\(name.id) was deleted, and shows again after SINCE")
        default: return
        }
    }
}
