import CRDT
import Chat
import Testing
import Wire

@testable import Node
@testable import Replication

@Suite struct PeerConnectionTests {
    private static let limits = PeerLimits(
        queueBytesMax: 100, queueBytesShort: 50, controlBytesMax: 50, answerBytesMax: 400,
        vectorBytesMax: 100)

    /// Returns a connection of which the other end reads nothing.
    private static func link() -> (link: PeerConnection, other: FakeChannel) {
        let channel = FakeChannel(1, of: "n1")
        let other = FakeChannel(2, of: "n2")
        channel.other = other
        channel.queuedBytes = limits.queueBytesMax
        let link = PeerConnection(
            channel: channel, cutter: EnvelopeCutter(), process: RandomID(high: 1, low: 1),
            wire: 1, isDialedByLesser: true, sync: PeerSync(to: NodeName(checked: "n2"), now: 0),
            limits: limits, restRangesMax: 64)
        return (link, other)
    }

    private static func answer(_ number: UInt64, bytes: Int) -> PeerResponse {
        let name = String(repeating: "x", count: 40)
        let names = (0..<max(1, bytes / 40)).map { UserID(checked: name + "\(100 + $0)") }
        return PeerResponse(
            number: number, round: 0, outcome: .found(AnyFindings(names), part: 0, isLast: true))
    }

    @Test func `an answer that finds no room is refused before those that follow it`() throws {
        let (link, other) = Self.link()
        #expect(link.sendResponse(Self.answer(1, bytes: 40)))
        #expect(!link.sendResponse(Self.answer(2, bytes: 400)))
        #expect(link.refuse(PeerResponse(number: 2, round: 0, outcome: .failed(.overloaded))))
        #expect(link.sendResponse(Self.answer(3, bytes: 40)))
        (link.channel as? FakeChannel)?.queuedBytes = 0
        for _ in 0..<4 { link.flush() }
        var cutter = EnvelopeCutter()
        for bytes in other.inbox { bytes.withUnsafeBytes { cutter.append($0) } }
        var numbers: [UInt64] = []
        while let payload = try cutter.next() {
            guard case .response(let told) = try PeerFrame.read(payload) else { continue }
            numbers.append(told.number)
        }
        #expect(numbers == [1, 2, 3])
    }

    @Test func `what is refused to who reads nothing is bounded`() {
        let (link, _) = Self.link()
        let refused = (UInt64(0)..<1_000).prefix {
            link.refuse(PeerResponse(number: $0, round: 0, outcome: .failed(.overloaded)))
        }
        let limit = Self.limits.answerBytesMax + Self.limits.controlBytesMax
        #expect(!refused.isEmpty && refused.count < limit / 10)
        #expect(link.load.answerBytes <= limit)
    }
}
