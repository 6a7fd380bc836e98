import Foundation
import LineProtocol
import Testing

@testable import ChatClient

/// Events of a client and its actions, as files to be read: `Transcripts/*.txt`.
///
/// Lines with `> ` are events; the actions that follow from one stand below it.
/// `GRAPEVINE_REWRITE_TRANSCRIPTS=1 swift test` writes what the client does into the files.
@Suite struct TranscriptTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Transcripts")

    @Test(arguments: [
        "everyday", "lines", "moving", "refusals", "narrow", "reading", "paging", "chatlist",
        "empty", "finding", "leaving", "unreached",
    ])
    func `the client does what its transcript says`(name: String) throws {
        let file = Self.folder.appending(path: name + ".txt")
        let written = try String(contentsOf: file, encoding: .utf8)
        let replayed = try Self.replayed(written)
        if ProcessInfo.processInfo.environment["GRAPEVINE_REWRITE_TRANSCRIPTS"] == "1" {
            try replayed.write(to: file, atomically: true, encoding: .utf8)
        } else {
            #expect(written == replayed)
        }
        #expect(written.contains("> "))
    }

    private static func replayed(_ transcript: String) throws -> String {
        var output: [String] = []
        var play: Play?
        for line in transcript.split(separator: "\n").map(String.init) {
            if line.hasPrefix("#") {
                output.append(line)
            } else if line.hasPrefix("> ") {
                let step = String(line.dropFirst(2))
                if play == nil { play = try Play(step) }
                output.append(line)
                output += try #require(play).take(step)
                play?.forget()
            }
        }
        return output.joined(separator: "\n") + "\n"
    }
}

/// A client that is driven by a transcript.
private final class Play {
    private var machine: ChatMachine
    private var now: UInt64 = 1_000
    private var screen: Screen?
    private var said: [String] = []

    /// - Parameter step: `start 60x12`, or `start lines`.
    init(_ step: String) throws {
        let word = try #require(step.split(separator: " ").last)
        machine = ChatMachine(
            ChatMachine.Settings(
                user: "alice", nodes: ["one:1", "two:2"], size: Play.size(word), idPrefix: "a",
                columns: .terminal))
    }

    func forget() { said = [] }

    private static func size(_ word: Substring) -> Size? {
        let numbers = word.split(separator: "x").compactMap { Int($0) }
        return numbers.count == 2 ? Size(columns: numbers[0], rows: numbers[1]) : nil
    }

    func take(_ step: String) throws -> [String] {
        let word = String(step.prefix { $0 != " " })
        let rest = String(step.dropFirst(word.count + 1))
        switch word {
        case "start": on(.tick)
        case "connected": on(.connected)
        case "lost": on(.lost(rest))
        case "answer":
            let number = try #require(Int(rest.prefix { $0 != " " }))
            let lines = rest.drop { $0 != " " }.dropFirst().split(separator: " | ")
            on(.answered(number, try lines.map { try #require(ReplyLine(String($0))) }))
        case "watch": on(.watchAnswered(try #require(ReplyLine(rest))))
        case "event":
            guard case .data("EVENT", let fields) = ReplyLine("EVENT " + rest) else {
                throw Unreadable(step: step)
            }
            on(.event(fields))
        case "type": for character in rest { on(.key(.character(character))) }
        case "enter":
            for character in rest { on(.key(.character(character))) }
            on(.key(.enter))
        case "key": on(.key(try #require(Play.keys[rest])))
        case "line": on(.line(rest))
        case "end": on(.inputEnded)
        case "terminate": on(.terminated(143))
        case "history": on(.answered(try #require(Int(rest)), try history()))
        case "wait":
            now += try #require(UInt64(rest))
            on(.tick)
        case "count": count = try #require(Int(rest))
        case "size": on(.resized(try #require(Play.size(rest[...]))))
        case "screen": return screen?.lines.map { "|\($0.text)" } ?? []
        default: throw Unreadable(step: step)
        }
        return said
    }

    /// The number of messages that the chat has; `HISTORY` returns the newest of them.
    private var count = 0
    private var limit = 0

    /// Returns the reply to the last `HISTORY`, of messages m1 to the one of the last step `count`.
    private func history() throws -> [ReplyLine] {
        let numbers = max(1, count - limit + 1)...max(1, count)
        let messages = numbers.map { number in
            let minute = String(number % 60 + 100).dropFirst()
            return "MESSAGE id=m\(number) from=bob at=2026-11-21T\(10 + number / 60):\(minute)"
                + ":00.000Z type=text text=\"text \(number)\""
        }
        return try (messages + ["OK"]).map { try #require(ReplyLine($0)) }
    }

    private struct Unreadable: Error { let step: String }

    private static let keys: [String: Keystroke] = [
        "tab": .tab, "up": .up, "escape": .escape, "pageUp": .pageUp, "pageDown": .pageDown,
        "ctrl-c": .control("c"), "ctrl-r": .control("r"), "ctrl-s": .control("s"),
        "alt-down": .altDown, "alt-up": .altUp, "home": .home, "end": .end,
    ]

    private func on(_ happening: Happening) {
        for directive in machine.on(happening, at: now) {
            switch directive {
            case .dial(let address): said.append("dial \(address)")
            case .ask(let number, let line):
                if line.hasPrefix("HISTORY "), let word = line.split(separator: "=").last {
                    limit = Int(word) ?? 0
                }
                said.append("ask \(number) \(line)")
            case .watch(let line): said.append("watch \(line)")
            case .print(let line): said.append("print \(line)")
            case .draw(let screen): self.screen = screen
            case .redraw: said.append("redraw")
            case .bell: said.append("bell")
            case .leave(let status): said.append("leave \(status)")
            }
        }
    }
}
