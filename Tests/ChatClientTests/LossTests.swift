import LineProtocol
import Testing

@testable import ChatClient

/// Connections that break at any time, before or after the node has executed a request.
@Suite struct LossTests {
    /// A node that recognises ids, as all nodes of a cluster do.
    private struct Node {
        var texts: [String] = []
        private var ids: Set<String> = []

        mutating func answer(_ line: String) -> [ReplyLine] {
            let words = line.split(separator: " ", maxSplits: 5).map(String.init)
            switch words[0] {
            case "SEND":
                if ids.insert(words[3]).inserted { texts.append(words[5]) }
                return lines("OK \(words[3]) at=2026-11-21T06:00:00.000Z replicas=3/3")
            case "CHATS":
                return lines("CHAT id=c1 unread=0 participants=alice,bob", "OK")
            default: return lines("OK")
            }
        }

        private func lines(_ texts: String...) -> [ReplyLine] {
            texts.compactMap { ReplyLine($0) }
        }
    }

    @Test(arguments: 0..<200)
    func `everything typed arrives once, in its order`(seed: UInt64) throws {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func chance(_ one: UInt64) -> Bool {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return random % one == 0
        }
        var machine = ChatMachine(
            ChatMachine.Settings(
                user: "alice", nodes: ["a:1", "b:2"], size: nil, idPrefix: "a",
                columns: .terminal))
        var node = Node()
        var status: Int32?
        var happenings: [Happening] = [.tick, .line("/open c1")]
        let texts = (0..<20).map { "text \($0)" }
        happenings += texts.map { .line($0) } + [.inputEnded]
        var now: UInt64 = 0
        while status == nil, now < 600_000 {
            now += 100
            if happenings.isEmpty { happenings.append(.tick) }
            for directive in machine.on(happenings.removeFirst(), at: now) {
                switch directive {
                case .dial:
                    happenings.append(chance(3) ? .lost("cannot be reached") : .connected)
                case .watch:
                    happenings.append(.watchAnswered(try #require(ReplyLine("OK token=t"))))
                case .ask(let number, let line):
                    if chance(9) {
                        // The request is lost, or it was executed and its reply is lost.
                        if chance(2) { _ = node.answer(line) }
                        happenings = happenings.filter(\.isTyped) + [.lost("was lost")]
                    } else {
                        happenings.append(.answered(number, node.answer(line)))
                    }
                case .leave(let code): status = code
                case .print, .draw, .redraw, .bell: break
                }
            }
        }
        #expect(status == 0)
        #expect(node.texts == texts)
    }
}

extension Happening {
    /// Whether it remains when the connection is lost.
    var isTyped: Bool {
        switch self {
        case .line, .inputEnded: true
        default: false
        }
    }
}
