import Chat
import Wire

/// Random uploads: few files of few parts, so that the changes of several users collide.
extension World {
    func fileChange(by user: UserID) -> Mutation {
        let conversation =
            clients.conversations.first { !ledger.entries(of: .conversation($0)).isEmpty }
            ?? clients.conversations[0]
        // A file that is closed stays so: later ones have other names.
        let file = FileID(checked: "f\(fileRandom.below(3) + Int(milliseconds / 1_000))")
        let begun = ledger.entries(of: .file(file, in: conversation)).map(\.mutation.user)
        let draw = begun.isEmpty ? 0 : fileRandom.below(100)
        // Mostly one of those who began it: others are refused, but on the other side of a cut.
        let isOwner = !begun.isEmpty && fileRandom.chance(percent: draw < 18 ? 30 : 85)
        let user = isOwner ? fileRandom.pick(begun) : user
        switch draw {
        case ..<18:
            return Mutation(
                BeginUpload(type: FieldText("image/png")), of: file, in: conversation,
                by: user)
        case ..<45: return part(of: file, in: conversation, by: user)
        case ..<60: return end(of: file, in: conversation, by: user)
        case ..<75:
            clients.texts += 1
            let message = MessageID(checked: "i\(clients.texts)")
            let preview = FileID(checked: "f\(fileRandom.below(3) + Int(milliseconds / 1_000))")
            let hasPreview = preview != file && fileRandom.chance(percent: 30)
            let send = SendMessage(
                type: .image, item: nil, text: text(),
                Attachment(file, preview: hasPreview ? preview : nil))
            // Sometimes the file goes with a message that another file was sent with: on the other
            // side of a network partition both are accepted.
            let known = clients.messagesWithFiles.last { $0.user == user }?.message
            let isAgain = fileRandom.chance(percent: 20)
            let mutation = Mutation(
                send, of: isAgain ? known ?? message : message, in: conversation, by: user)
            clients.messagesWithFiles.append(mutation)
            return mutation
        case ..<87: return deletion() ?? part(of: file, in: conversation, by: user)
        case ..<95:
            return Mutation(
                PurgeFilePart(), on: PartContent.named(fileRandom.below(4)), of: file,
                in: conversation, by: Mutation.cluster)
        default:
            return Mutation(CloseFile(), of: file, in: conversation, by: Mutation.cluster)
        }
    }

    private func part(
        of file: FileID, in conversation: ConversationID, by user: UserID
    ) -> Mutation {
        let content = fileRandom.below(4)
        return Mutation(
            PutFilePart(PartContent.bytes(content)), on: PartContent.named(content), of: file,
            in: conversation,
            by: user)
    }

    /// The end of an upload, whose parts are in any order, and there once, several times or never.
    private func end(
        of file: FileID, in conversation: ConversationID, by user: UserID
    ) -> Mutation {
        let parts = (0..<fileRandom.below(4)).map { _ in PartContent.named(fileRandom.below(4)) }
        return Mutation(
            EndUpload(size: UInt64(9 * parts.count), parts: parts), of: file,
            in: conversation, by: user)
    }

    /// The deletion, for everyone, of one of the last messages that were sent with a file.
    private func deletion() -> Mutation? {
        guard !clients.messagesWithFiles.isEmpty else { return nil }
        let back = 1 + fileRandom.below(min(8, clients.messagesWithFiles.count))
        let sent = clients.messagesWithFiles[clients.messagesWithFiles.count - back]
        guard let id = sent.message, let conversation = sent.conversation else { return nil }
        return Mutation(RetractMessage(), of: id, in: conversation, by: sent.user)
    }
}

/// The few contents of parts, so that several clients put the same ones.
private enum PartContent {
    static func bytes(_ content: Int) -> [UInt8] { Array("part-\(content)-x".utf8) }

    static func named(_ content: Int) -> PartID {
        let hash = Hash128(of: bytes(content))
        let digest = (0..<16).map { byte in
            UInt8(truncatingIfNeeded: (byte < 8 ? hash.high : hash.low) >> (8 * (byte % 8)))
        }
        return PartID(checked: Base64.encode(digest))
    }
}
