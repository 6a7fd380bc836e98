import Testing

@testable import Benchmarks

@Suite struct ChaosMixTests {
    @Test func `every verb is drawn, and every request can be written as a line`() {
        var expectations = Expectations(conversations: 3, ownDisks: [0])
        var random = SeededRandom(seed: 1)
        var drawn: [String: Int] = [:]
        for _ in 0..<4_000 {
            var request = expectations.draw(&random)
            request.attempts = 1
            drawn[ChaosRequest.verb(of: request.line(in: expectations)), default: 0] += 1
            expectations.onBegin(request)
            expectations.onAttempt(request, at: 0)
            expectations.onAcknowledged(request, by: 0, copies: 2)
        }
        #expect(drawn.keys.sorted() == ChaosRequest.verbs)
    }

    @Test func `some users do nothing in some conversations, so that it shows if anything is done`()
    {
        var expectations = Expectations(conversations: 3, ownDisks: [0])
        var random = SeededRandom(seed: 2)
        for _ in 0..<4_000 {
            var request = expectations.draw(&random)
            request.attempts = 1
            expectations.onAttempt(request, at: 0)
            expectations.onAcknowledged(request, by: 0, copies: 2)
        }
        for (conversation, parts) in expectations.parts.enumerated() {
            for (user, part) in parts.enumerated() {
                let thing = Expectations.isFounder(user) ? part.archive : part.presence
                switch Expectations.habit(of: user, in: conversation) {
                case .nothing: #expect(thing.standing == false && part.reads.isEmpty)
                case .onlyOn: #expect(thing.standing == true)
                case .both: #expect(thing.standing == nil)
                }
            }
        }
    }
}
