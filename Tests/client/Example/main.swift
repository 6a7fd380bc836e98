import Foundation
import GrapevineClient

/// A chat in the terminal.
@MainActor
final class Chat {
    private let client: GrapevineClient
    private var chats: [Conversation] = []
    private var messages: [Message] = []
    private var opened = ""
    private var showing: Task<Void, Never>?

    init(_ client: GrapevineClient) {
        self.client = client
        follow(client.connection) { print("-- \($0)") }
        follow(client.messaging.conversations()) { [self] chats in show(chats) }
        follow(client.messaging.refusals) { refusals in
            for refusal in refusals { print("!! \(refusal.error.message): \(refusal.text ?? "")") }
        }
    }

    @discardableResult
    private func follow<Value: Sendable>(
        _ stream: AsyncStream<Value>, _ show: @escaping @MainActor (Value) -> Void
    ) -> Task<Void, Never> {
        Task { for await value in stream { show(value) } }
    }

    private func show(_ new: [Conversation]) {
        let difference = ListDifference(from: chats, to: new)
        chats = new
        for index in difference.inserted + difference.changed {
            let (chat, last) = (new[index], new[index].lastMessage.text)
            print("## \(index + 1) \(chat.title): \(last) (\(chat.unreadCount) unread)")
        }
    }

    private func show(_ new: [Message]) {
        let difference = ListDifference(from: messages, to: new)
        for index in difference.removed { print("<< \(index + 1) is gone") }
        for index in (difference.inserted + difference.changed).sorted() {
            let (message, pin) = (new[index], new[index].isPinned ? " pinned" : "")
            let name = message.senderName.isEmpty ? message.senderId : message.senderName
            print(">> \(index + 1) \(name): \(message.text) (\(message.status.rawValue)\(pin))")
        }
        messages = new
    }

    private func open(_ chat: String) async {
        showing?.cancel()
        (opened, messages) = (chat, [])
        await client.messaging.setViewedConversation(chat)
        showing = follow(client.messaging.messages(in: chat)) { [self] in show($0.messages) }
    }

    /// Does what a line says; a line without a slash is sent.
    func perform(_ line: String) async throws(GrapevineError) {
        let words = line.split(separator: " ", maxSplits: 2).map(String.init) + ["", ""]
        let place = (Int(words[1]) ?? 0) - 1
        let message = messages.indices.contains(place) ? messages[place].id : ""
        let (auth, messaging) = (client.auth, client.messaging)
        switch words[0] {
        case "/signup": try await auth.signUp(email: words[1], password: words[2])
        case "/signin": try await auth.signIn(email: words[1], password: words[2])
        case "/signout": try await auth.signOut()
        case "/new":
            await open(try await messaging.createConversation(title: words[2], email: words[1]).id)
        case "/open": await open(chats.indices.contains(place) ? chats[place].id : words[1])
        case "/edit":
            try await messaging.editMessage(
                messageId: message, conversationId: opened, newText: words[2])
        case "/delete", "/retract":
            try await messaging.deleteMessage(
                messageId: message, conversationId: opened,
                deleteForEveryone: words[0] == "/retract")
        case "/pin": try await messaging.pinMessage(message, in: opened)
        case "/unpin": try await messaging.unpinMessage(message)
        case "/archive": try await messaging.archiveConversation(opened)
        case "/hide": try await messaging.hideConversation(opened)
        case "/leave": try await messaging.leaveConversation(opened)
        case "/earlier": try await messaging.loadEarlier(in: opened)
        case "/offline", "/online": client.debugOfflineMode = words[0] == "/offline"
        default: try await messaging.sendMessage(conversationId: opened, text: line)
        }
    }
}

let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first, !folder.hasPrefix("-") else {
    print("usage: grapevine-example FOLDER NODE… [--offline]   a NODE is http://127.0.0.1:7301")
    exit(64)
}
let nodes = arguments.dropFirst().filter { $0 != "--offline" }.compactMap(URL.init(string:))
let client = try await GrapevineClient.open(nodes: nodes, directory: URL(filePath: folder))
client.debugOfflineMode = arguments.contains("--offline")
let chat = Chat(client)
while let line = await Task.detached(operation: { readLine() }).value {
    do { try await chat.perform(line) } catch { print("!! \(error.message)") }
}
