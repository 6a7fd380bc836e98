import Chat
import LineProtocol
import Node
import Wire

extension LineError {
    init(_ failure: ShardFailure) {
        switch failure {
        case .refused(let refusal): self.init(refusal)
        case .notReady:
            self.init(503, "This node is catching up with the others; ask again shortly")
        case .store(.full):
            self.init(503, "The disk is full; free some space and try again")
        case .store(.badRecord(let key)):
            self.init(
                503, "A damaged record of \(key.partition) is being fetched anew; ask again")
        case .store(.failed(let reason)): self.init(500, "The disk failed: \(reason)")
        case .badFrame: self.init(500, "A frame cannot be the answer to a request")
        }
    }

    private init(_ refusal: Refusal) {
        switch refusal {
        case .conversationNotFound: self = .conversationNotFound
        case .messageNotFound: self = .messageNotFound
        case .notParticipant: self = .onlyParticipants
        case .editForbidden: self = .editRefused
        case .notSender: self = .onlySender
        case .conversationExists:
            self.init(409, "Conversation exists with another creator, users or title")
        case .messageExists: self.init(409, "Message exists with another sender or text")
        case .messageDeleted: self.init(409, "Message is deleted for everyone")
        case .tooManyEdits:
            self.init(429, "A message has at most \(ChatLimits.editsMax) edits")
        case .tooManyParticipants: self = .tooManyParticipants
        }
    }
}
