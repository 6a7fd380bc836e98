import Foundation

/// The conversations, messages and action items of the user: it takes the place of a
/// `MessagingManager`.
///
/// A change is shown at once. A call that changes something returns when a node has accepted it,
/// and throws when one has refused it; without a connection it returns as soon as it is stored, and
/// a later refusal is told by ``refusals``. All calls throw 401 if nobody is signed in, 429 if a
/// thousand changes wait, and 507 if this device cannot store them.
public struct MessagingService: Sendable {
    let engine: Engine

    // MARK: Messages

    /// Sends a text; it returns as soon as the message is stored on this device.
    ///
    /// - Returns: the message, as it is shown until a node has accepted it.
    /// - Throws: 400 for a text without a letter.
    @discardableResult
    public func sendMessage(
        conversationId: String, text: String
    ) async throws(GrapevineError) -> Message {
        try await send(Action.Draft(text: text), to: conversationId)
    }

    /// The most bytes of a file, and of its preview.
    private static let (fileMax, previewMax) = (25 << 20, 16 << 10)

    /// Sends a file, such as a picture or a recording; it returns as soon as the message and the
    /// file are stored on this device.
    ///
    /// - Parameters:
    ///   - data: the bytes of the file, at most 25 MiB.
    ///   - type: what the file is: an image, or a voice message.
    ///   - preview: a small picture of it, at most 16 KiB.
    ///   - text: a text beside the file; it may be empty.
    ///   - conversationId: the conversation.
    /// - Returns: the message, as it is shown until a node has accepted it.
    /// - Throws: 413 for a file that is too large, and 429 while 100 MiB of files wait.
    @discardableResult
    public func sendFile(
        _ data: Data, type: MessageType, preview: Data? = nil, text: String = "",
        conversationId: String
    ) async throws(GrapevineError) -> Message {
        guard data.count <= Self.fileMax, preview?.count ?? 0 <= Self.previewMax else {
            throw GrapevineError(
                code: 413, message: "A file has at most 25 MiB, and its preview 16 KiB")
        }
        let names = (file: newID(), preview: preview.map { _ in newID() })
        var files = [names.file: data]
        if let name = names.preview { files[name] = preview }
        let draft = Action.Draft(kind: type, text: text, blob: names.file, preview: names.preview)
        return try await send(draft, files, to: conversationId)
    }

    private func newID() -> String { UUID().uuidString.lowercased() }

    private func send(
        _ draft: Action.Draft, _ files: [String: Data] = [:], to conversation: String
    ) async throws(GrapevineError) -> Message {
        let id = newID()
        try await engine.store(
            .send(conversation: conversation, message: id, draft), files: files)
        let message = try await engine.read { core throws(StoreError) in
            try core.message(id, in: conversation)
        }
        guard let message else { throw .messageNotFound }
        return message
    }

    /// Returns the bytes of a message's file or preview: from this device while it waits, and then
    /// from a node.
    ///
    /// - Parameters:
    ///   - fileId: see ``Message/fileId`` and ``Message/previewId``.
    ///   - conversationId: the conversation of the message.
    /// - Throws: 404 for an unknown file, or one whose message was deleted for everyone.
    public func file(
        _ fileId: String, in conversationId: String
    ) async throws(GrapevineError) -> Data {
        let waiting = try await engine.read { core throws(StoreError) in
            try core.store.file(fileId)
        }
        if let waiting { return waiting }
        return try await engine.request(Request.file(fileId, in: conversationId)).body
    }

    /// Changes the text of a message.
    ///
    /// - Throws: 400 for a text without a letter, 403 for the message of another user or one that
    ///   is too old, and 404 for an unknown one.
    public func editMessage(
        messageId: String, conversationId: String, newText: String
    ) async throws(GrapevineError) {
        try await engine.act(
            .edit(conversation: conversationId, message: messageId, text: newText))
    }

    /// Deletes a message, for this user or for everyone.
    ///
    /// - Throws: 403 if the message of another user is to be deleted for everyone, and 404 for an
    ///   unknown one.
    public func deleteMessage(
        messageId: String, conversationId: String, deleteForEveryone: Bool
    ) async throws(GrapevineError) {
        try await engine.act(
            deleteForEveryone
                ? .deleteForEveryone(conversation: conversationId, message: messageId)
                : .delete(conversation: conversationId, message: messageId))
    }

    /// Shows a message again that this user has deleted for themselves.
    ///
    /// - Throws: 404 for an unknown message.
    public func restoreMessage(
        messageId: String, conversationId: String
    ) async throws(GrapevineError) {
        try await engine.act(.restore(conversation: conversationId, message: messageId))
    }

    /// Pins a message.
    ///
    /// - Throws: 404 for an unknown message, and 409 if too many are pinned.
    public func pinMessage(
        _ messageId: String, in conversationId: String
    ) async throws(GrapevineError) {
        try await engine.act(.pin(conversation: conversationId, message: messageId))
    }

    /// Unpins a message.
    ///
    /// - Throws: 404 if the message is not known to this device.
    public func unpinMessage(_ messageId: String) async throws(GrapevineError) {
        let found = try await engine.read { core throws(StoreError) in
            try core.store.conversation(ofMessage: messageId)
        }
        guard let found else { throw .messageNotFound }
        try await engine.act(.unpin(conversation: found, message: messageId))
    }

    /// Returns the pinned messages of a conversation, as far as this device knows them.
    public func fetchPinnedMessages(
        in conversationId: String
    ) async throws(GrapevineError) -> [Message] {
        try await engine.read { core throws(StoreError) in
            try core.snapshot(of: conversationId).pins
        }
    }

    /// Returns a stream of what a conversation shows: the present state, and each one that follows.
    ///
    /// While there is a stream, the conversation is kept up to date.
    public func messages(in conversationId: String) -> AsyncStream<ConversationSnapshot> {
        engine.stream(.messages(conversationId)) { engine throws(StoreError) in
            try engine.core?.snapshot(of: conversationId) ?? ConversationSnapshot()
        }
    }

    /// Reads messages before those that the streams of the conversation show.
    ///
    /// - Throws: the error of the last node that was asked.
    public func loadEarlier(in conversationId: String) async throws(GrapevineError) {
        try await engine.loadEarlier(in: conversationId)
    }

    /// Notes which conversation the user is looking at: its messages count as read.
    public func setViewedConversation(_ conversationId: String?) async {
        await engine.view(conversationId)
    }

    /// Tells the other participants that the user types, or does no more; nothing is told without
    /// a connection, and nothing for another user than the signed-in one.
    public func setTyping(conversationId: String, userId: String, isTyping: Bool) async {
        guard await engine.user?.id == userId else { return }
        await engine.setTyping(isTyping, in: conversationId)
    }

    // MARK: Conversations

    /// Creates a conversation with another user.
    ///
    /// - Parameters:
    ///   - title: at most 1,024 bytes of UTF-8; it may be empty.
    ///   - email: the address of the other user's account.
    /// - Throws: 404 if the address has no account.
    @discardableResult
    public func createConversation(
        title: String, email: String
    ) async throws(GrapevineError) -> Conversation {
        let id = newID()
        try await engine.act(.create(conversation: id, title: title, emails: [email]))
        let made = try await engine.read { core throws(StoreError) in try core.listed(id) }
        guard let made else { throw GrapevineError(code: 404, message: "Conversation not found") }
        return made
    }

    /// Returns a stream of the conversations, the one with the last message first.
    public func conversations(archived: Bool = false) -> AsyncStream<[Conversation]> {
        engine.stream(.chats) { engine throws(StoreError) in
            try engine.conversations(archived: archived)
        }
    }

    /// Returns the conversations that the user has archived.
    public func fetchArchivedConversations() async throws(GrapevineError) -> [Conversation] {
        try await fetch(archived: true)
    }

    /// Returns the conversations that the user has not archived.
    public func fetchActiveConversations() async throws(GrapevineError) -> [Conversation] {
        try await fetch(archived: false)
    }

    private func fetch(archived: Bool) async throws(GrapevineError) -> [Conversation] {
        let all = try await engine.read { core throws(StoreError) in try core.conversations() }
        return all.filter { $0.isArchived == archived }
    }

    /// Archives a conversation, for this user.
    public func archiveConversation(_ conversationId: String) async throws(GrapevineError) {
        try await engine.act(.archive(conversation: conversationId))
    }

    /// Takes a conversation out of the archive.
    public func unarchiveConversation(_ conversationId: String) async throws(GrapevineError) {
        try await engine.act(.unarchive(conversation: conversationId))
    }

    /// Hides a conversation with all its messages, for this user: it is back with the next message.
    public func hideConversation(_ conversationId: String) async throws(GrapevineError) {
        let last = try await engine.read { core throws(StoreError) in
            try core.stretch(of: conversationId).last?.sent
        }
        try await engine.act(.hide(conversation: conversationId, through: last))
    }

    /// Leaves a conversation.
    public func leaveConversation(_ conversationId: String) async throws(GrapevineError) {
        try await engine.act(.leave(conversation: conversationId))
    }

    // MARK: Action items

    /// Returns a stream of the user's action items; those that are to be done first are first.
    public func items() -> AsyncStream<[ActionItem]> {
        engine.stream(.items) { engine throws(StoreError) in try engine.core?.items() ?? [] }
    }

    /// Adds an action item.
    public func addItem(_ item: ActionItem) async throws(GrapevineError) {
        let draft = Action.ItemDraft(
            id: item.id, title: item.title, due: item.dueDate.map(ExactTime.init(date:))?.short,
            priority: item.priority?.rawValue, chat: item.chatId, message: item.messageId)
        try await engine.act(.addItem(draft))
    }

    /// Marks an action item as done, or as not done.
    public func completeItem(
        _ itemId: String, isCompleted: Bool = true
    ) async throws(GrapevineError) {
        try await engine.act(.completeItem(item: itemId, isDone: isCompleted))
    }

    /// Deletes an action item.
    public func deleteItem(_ itemId: String) async throws(GrapevineError) {
        try await engine.act(.deleteItem(item: itemId))
    }

    // MARK: What waits

    /// Tries at once to send what waits.
    public func processPendingMessages() async { await engine.retry() }

    /// A stream of the changes that nodes have refused after they were shown, also before the app
    /// was started.
    ///
    /// Each is told to one reader, once; again after a start only if the app has ended before the
    /// reader came back for more.
    public var refusals: AsyncStream<[Refusal]> {
        let (engine, reader) = (engine, RefusalReader())
        return AsyncStream { await reader.next(from: engine) }
    }
}

/// The reader of a stream of refusals.
private actor RefusalReader {
    private var number: Int?

    func next(from engine: Engine) async -> [Refusal]? {
        let number: Int
        if let known = self.number { number = known } else { number = await engine.newReader() }
        self.number = number
        return await engine.nextRefusals(for: number)
    }
}
