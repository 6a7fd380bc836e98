import Chat
import Wire

/// Random uploads: few files of few parts, so that the changes of several users collide.
extension World {
    func fileChange(by user: UserID) -> Mutation {
        let conversation = fileRandom.pick(clients.conversations)
        let file = FileID(checked: "f\(fileRandom.below(6))")
        // Mostly whoever began it: others are refused.
        let owner = ledger.entries(of: .file(file, in: conversation)).first?.mutation.user
        let user = fileRandom.chance(percent: 85) ? owner ?? user : user
        switch fileRandom.below(100) {
        case ..<18:
            return Mutation(
                File.Action.begin(type: FieldText("image/png")), of: file, in: conversation,
                by: user)
        case ..<45: return part(of: file, in: conversation, by: user)
        case ..<60: return Mutation(File.Action.end(size: 9), of: file, in: conversation, by: user)
        case ..<75:
            clients.texts += 1
            let send = Message.Action.send(
                type: .image, item: nil, text: text(), file: file)
            let mutation = Mutation(
                send, of: MessageID(checked: "i\(clients.texts)"), in: conversation, by: user)
            clients.messagesWithFiles.append(mutation)
            return mutation
        case ..<87: return deletion() ?? part(of: file, in: conversation, by: user)
        case ..<91:
            return Mutation(File.Action.close, of: file, in: conversation, by: Mutation.cluster)
        case ..<98:
            return Mutation(
                FilePart.Action.purge, on: fileRandom.below(3), of: file, in: conversation,
                by: Mutation.cluster)
        default:
            return Mutation(File.Action.purge, of: file, in: conversation, by: Mutation.cluster)
        }
    }

    private func part(
        of file: FileID, in conversation: ConversationID, by user: UserID
    ) -> Mutation {
        Mutation(
            .put(Array(text().utf8)), on: fileRandom.below(3), of: file, in: conversation, by: user)
    }

    /// The deletion, for everyone, of one of the last messages that were sent with a file.
    private func deletion() -> Mutation? {
        guard !clients.messagesWithFiles.isEmpty else { return nil }
        let back = 1 + fileRandom.below(min(8, clients.messagesWithFiles.count))
        let sent = clients.messagesWithFiles[clients.messagesWithFiles.count - back]
        guard let id = sent.message, let conversation = sent.conversation else { return nil }
        return Mutation(.retract, of: id, in: conversation, by: sent.user)
    }
}
