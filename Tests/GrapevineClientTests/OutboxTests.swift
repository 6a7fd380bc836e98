import Glibc
import TestKit
import Testing

@testable import GrapevineClient
@testable import struct GrapevineClient.Operation

@Suite struct OutboxTests {
    private func send(_ message: String, in conversation: String = "c") -> Action {
        .send(conversation: conversation, message: message, Action.Draft(text: message))
    }

    private func stamp(_ operation: Operation) -> Operation.Stamp {
        Operation.Stamp(
            device: "phone", number: operation.number,
            time: ExactTime(milliseconds: Int64(operation.number)))
    }

    @Test func `operations of a lane are sent in order, one at a time`() throws {
        var outbox = Outbox()
        let first = try outbox.add(send("a"), created: 10)
        let second = try outbox.add(.pin(conversation: "c", message: "a"), created: 10)
        let other = try outbox.add(.archive(conversation: "d"), created: 5)
        #expect([first.number, second.number, other.number] == [10, 11, 12])
        let sent = outbox.send(now: 0, stamp: stamp)
        #expect(sent.map(\.number) == [10, 12])
        // A message is placed by its acceptance: it has no stamp.
        #expect(sent[0].stamp == nil && sent[1].stamp == stamp(other))
        #expect(outbox.send(now: 0, stamp: stamp).isEmpty)
        let settled = outbox.settle(10, .accepted(at: .zero), now: 1)
        #expect(settled == .accepted(first, at: .zero))
        #expect(outbox.send(now: 1, stamp: stamp).map(\.number) == [11])
        #expect(outbox.settle(10, .accepted(at: .zero), now: 1) == nil)
    }

    @Test func `a number is never given twice, nor after a clock was set back`() throws {
        var outbox = Outbox(lastNumber: 500)
        #expect(try outbox.add(send("a"), created: 100).number == 501)
        #expect(try outbox.add(send("b"), created: 900).number == 900)
        #expect(try outbox.add(send("c"), created: -7).number == 901)
    }

    @Test func `an operation without an answer is sent again as it was, after growing pauses`()
        throws
    {
        var outbox = Outbox()
        _ = try outbox.add(.pin(conversation: "c", message: "a"), created: 1)
        let first = outbox.send(now: 0, stamp: stamp)
        var pauses: [Int64] = []
        var now: Int64 = 0
        for _ in 0..<5 {
            #expect(outbox.settle(1, .unknown(retryAfter: nil), now: now) == .waits)
            let deadline = try #require(outbox.deadline)
            pauses.append(deadline - now)
            #expect(outbox.send(now: deadline - 1, stamp: stamp).isEmpty)
            now = deadline
            let again = outbox.send(now: now) { _ in
                Issue.record("A stamp is given once")
                return stamp(first[0])
            }
            #expect(again == first)
        }
        #expect(pauses == [100, 200, 400, 800, 800])
        #expect(outbox.settle(1, .later(retryAfter: 7), now: now) == .waits)
        #expect(outbox.deadline == now + 7_000)
        outbox.retry()
        #expect(outbox.send(now: now, stamp: stamp) == first)
    }

    @Test func `a refusal takes along what needs the object, and nothing else`() throws {
        var outbox = Outbox()
        let message = try outbox.add(send("a"), created: 1)
        let pin = try outbox.add(.pin(conversation: "c", message: "a"), created: 2)
        let other = try outbox.add(.pin(conversation: "c", message: "b"), created: 3)
        _ = outbox.send(now: 0, stamp: stamp)
        let error = GrapevineError(code: 403, message: "No")
        let settled = outbox.settle(1, .refused(error), now: 0)
        #expect(settled == .refused(message, dependents: [pin], error))
        #expect(outbox.operations == [other])
        #expect(outbox.send(now: 0, stamp: stamp).map(\.number) == [3])
    }

    @Test func `an expired operation gets another stamp`() throws {
        var outbox = Outbox()
        let pin = try outbox.add(.pin(conversation: "c", message: "a"), created: 1)
        let sent = outbox.send(now: 0, stamp: stamp)
        let settled = outbox.settle(1, .untimely(isExpired: true, now: nil), now: 0)
        #expect(settled == .untimely(sent[0], isExpired: true, now: nil))
        outbox.takeStamp(of: 1)
        let again = outbox.send(now: 100) { operation in
            Operation.Stamp(device: "phone", number: operation.number, time: .zero)
        }
        #expect(again.map(\.number) == [pin.number] && again[0].stamp?.time == .zero)
    }

    @Test func `a thousand operations wait, and sixteen lanes are under way`() throws {
        var outbox = Outbox()
        for number in 1...1_000 {
            _ = try outbox.add(send("m", in: "c\(number)"), created: Int64(number))
        }
        #expect(throws: GrapevineError.tooManyWaiting) {
            try outbox.add(send("m"), created: 0)
        }
        #expect(outbox.send(now: 0, stamp: stamp).count == 16)
        _ = outbox.settle(1, .accepted(at: nil), now: 0)
        #expect(outbox.send(now: 0, stamp: stamp).map(\.number) == [17])
    }

    @Test func `fresh seeds`() throws {
        let first = UInt64(time(nil)) * 1_000
        for seed in first..<(first + 200) { try check(seed) }
    }

    /// Has answers of all kinds come in any order: each operation is in exactly one place, is first
    /// sent in the order of its lane, and has one stamp as long as any node may execute it.
    private func check(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var outbox = Outbox()
        var added: [Operation] = []
        var over: Set<UInt64> = []
        var underWay: [Operation] = []
        var stamps: [UInt64: Operation.Stamp] = [:]
        var firstSent: [Lane: UInt64] = [:]
        var now: Int64 = 0
        for _ in 0..<300 {
            now += Int64.random(in: 0...300, using: &random)
            if Int.random(in: 0..<3, using: &random) == 0 {
                let lane = "c\(Int.random(in: 0..<4, using: &random))"
                let action: Action =
                    Bool.random(using: &random)
                    ? send("m\(added.count)", in: lane) : .archive(conversation: lane)
                added.append(try outbox.add(action, created: now))
            }
            for operation in outbox.send(now: now, stamp: stamp) {
                let lane = operation.action.lane
                #expect(!underWay.contains { $0.action.lane == lane }, "seed \(seed)")
                #expect(operation.number >= firstSent[lane] ?? 0, "seed \(seed)")
                firstSent[lane] = operation.number
                if let known = stamps[operation.number] {
                    #expect(operation.stamp == known, "seed \(seed)")
                }
                stamps[operation.number] = operation.stamp
                underWay.append(operation)
            }
            guard let answered = underWay.indices.randomElement(using: &random) else { continue }
            let operation = underWay.remove(at: answered)
            let answers: [Answer] = [
                .accepted(at: .zero), .accepted(at: .zero), .unknown(retryAfter: nil),
                .later(retryAfter: 1), .unauthorized, .refused(.notSender),
            ]
            let answer = answers[Int.random(in: 0..<answers.count, using: &random)]
            switch outbox.settle(operation.number, answer, now: now) {
            case .accepted(let accepted, _): over.insert(accepted.number)
            case .refused(let refused, let dependents, _):
                over.formUnion([refused.number] + dependents.map(\.number))
            default: break
            }
            let waiting = outbox.operations.map(\.number)
            #expect(Set(waiting).isDisjoint(with: over), "seed \(seed)")
            #expect(Set(waiting).union(over) == Set(added.map(\.number)), "seed \(seed)")
        }
    }
}

@Suite struct AnswerTests {
    private func answer(_ status: Int, _ reason: String = "") -> Answer {
        Answer(
            status: status, error: GrapevineError(code: status, message: "No", reason: reason),
            at: .zero, now: nil, retryAfter: 2)
    }

    @Test func `what an answer means`() {
        #expect(answer(200) == .accepted(at: .zero))
        for status in [400, 403, 404, 405, 409, 413] {
            #expect(answer(status) == .refused(GrapevineError(code: status, message: "No")))
        }
        #expect(answer(401) == .unauthorized)
        #expect(answer(408, "operation_expired") == .untimely(isExpired: true, now: nil))
        #expect(answer(408, "operation_early") == .untimely(isExpired: false, now: nil))
        #expect(answer(429) == .later(retryAfter: 2))
        // Whoever takes one of these for a refusal loses what the node executes later.
        for status in [500, 502, 503, 504, 304] {
            #expect(answer(status) == .unknown(retryAfter: 2))
        }
    }
}
