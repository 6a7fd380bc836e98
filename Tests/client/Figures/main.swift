import Foundation
import GrapevineClient

/// What an app has to wait for, measured by the clock of this process; `grapevine-bench client`
/// starts it for one figure after the other.
///
/// The words are the figure, the folder of the store, the addresses of the nodes, and what the
/// figure needs.
struct Figures {
    private static let email = "phone@example.org"
    private static let password = "walnut-lantern"

    private let client: GrapevineClient
    private let clock = ContinuousClock()
    private let began: ContinuousClock.Instant
    private let rest: [String]

    init(_ words: [String]) async throws {
        began = clock.now
        rest = Array(words.dropFirst(3))
        client = try await GrapevineClient.open(
            nodes: words[2].split(separator: ",").compactMap { URL(string: String($0)) },
            directory: URL(fileURLWithPath: words[1]))
    }

    func run(_ figure: String) async throws {
        switch figure {
        case "sign-up":
            try await client.auth.signUp(email: Self.email, password: Self.password)
            let user = await client.auth.currentUser
            say(user?.id ?? "")
        case "follow":
            await follow(count: Int(rest[0]) ?? 0, until: rest[1])
        case "start":
            let chats = try await client.messaging.fetchActiveConversations()
            say("\(milliseconds(since: began)) \(chats.count) \(residentBytes)")
        case "taps":
            try await tap(in: rest[0], count: Int(rest[1]) ?? 0, waiting: Int(rest[2]) ?? 0)
        default: throw GrapevineError(code: 400, message: "No such figure: \(figure)")
        }
    }

    /// Waits until the list shows a text in so many chats, and tells after how long.
    private func follow(count: Int, until text: String) async {
        var isOnline = false
        for await state in client.connection where state == .online {
            isOnline = true
            break
        }
        say(isOnline ? "online" : "offline")
        for await chats in client.messaging.conversations() {
            guard chats.count(where: { $0.lastMessage.text == text }) < count else { break }
        }
        say("\(milliseconds(since: began))")
    }

    /// Sends texts one after the other, and tells after how long each is shown.
    private func tap(in chat: String, count: Int, waiting: Int) async throws {
        let messaging = client.messaging
        var snapshots = messaging.messages(in: chat).makeAsyncIterator()
        while let snapshot = await snapshots.next(), !snapshot.isLoaded {}
        if waiting > 0 { client.debugOfflineMode = true }
        for await state in client.connection where (state == .online) == (waiting == 0) { break }
        for number in 0..<waiting {
            _ = try await messaging.sendMessage(conversationId: chat, text: "waiting \(number)")
        }
        var times: [Double] = []
        for number in 0..<count {
            let text = "tap \(waiting) \(number)"
            let start = clock.now
            _ = try await messaging.sendMessage(conversationId: chat, text: text)
            while let snapshot = await snapshots.next(),
                !snapshot.messages.suffix(waiting + count).contains(where: { $0.text == text })
            {}
            times.append(milliseconds(since: start))
        }
        times.sort()
        say("\(times[count / 2]) \(times[min(count - 1, count * 99 / 100)])")
    }

    private func milliseconds(since start: ContinuousClock.Instant) -> Double {
        let (seconds, attoseconds) = (clock.now - start).components
        return Double(seconds) * 1_000 + Double(attoseconds) / 1e15
    }

    private var residentBytes: Int {
        do {
            let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
            let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            return (pages ?? 0) * 4_096
        } catch {
            return 0
        }
    }

    private func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}

let words = Array(CommandLine.arguments.dropFirst())
guard words.count > 2 else {
    print("grapevine-figures is started by grapevine-bench client")
    exit(64)
}
do {
    try await Figures(words).run(words[0])
} catch {
    print(error)
    exit(1)
}
