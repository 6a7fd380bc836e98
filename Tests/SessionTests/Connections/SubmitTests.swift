import Admin
import CRDT
import Chat
import LineProtocol
import Node
import NodeKit
import Replication
import Testing
import Wire

@testable import Session

/// Requests that are values, whose responses the output of a session receives.
@Suite struct SubmitTests {
    /// An output that keeps what it receives, and says that each response has a thousand bytes.
    private final class Receiver: ValueOutput {
        nonisolated(unsafe) private(set) var responses: [Response] = []
        nonisolated(unsafe) private(set) var isPaused = false
        nonisolated(unsafe) var queuedBytes = 0

        func receive(_ response: Response) -> Int {
            responses.append(response)
            return 1_000
        }

        func setReadingPaused(_ isPaused: Bool) { self.isPaused = isPaused }
        func finish() {}
        func abort() {}
    }

    private let world = World()
    private let output = Receiver()
    private let session: Session
    private var node: TestNode { world.n1 }

    private static let alice = UserID(checked: "alice")
    private static let chat = ConversationID(checked: "c")

    init() {
        session = Session(
            1 << 40, node: world.n1.node, clock: world.n1.clock, output: output,
            executor: world.n1.executor, ackLevel: .majority)
        world.n1.node.assumeIsolated { [session] in $0.attach(session, as: session.id) }
        let writer = world.n1.connect()
        _ = writer.ask("CREATE c alice,bob")
    }

    private func submit(_ request: Request) {
        session.assumeIsolated { $0.submit(request, nil) }
        node.settle()
    }

    private func send(_ text: String) {
        submit(
            .write(
                Mutation(
                    SendMessage(type: .text, item: nil, text: text, nil),
                    of: MessageID(checked: text), in: SubmitTests.chat, by: SubmitTests.alice)))
    }

    @Test func `responses come in the order of the requests, and a write once it is stored`() {
        send("m1")
        submit(
            .read(
                HistoryQuery(SubmitTests.chat, place: .newest, limit: 9, bytesMax: nil),
                of: SubmitTests.alice))
        submit(.token)
        #expect(output.responses.count == 3)
        guard case .written(let written) = output.responses[0],
            case .found(let listing) = output.responses[1],
            let messages: [MessageView] = listing.findings.value()
        else { return #expect(Bool(false)) }
        #expect(written.receipt.message == MessageID(checked: "m1"))
        #expect(messages.map(\.text) == ["m1"])
        #expect(output.responses[2].tokenText != nil)
    }

    /// Whether a client takes what it is sent is judged by this: responses count as events do.
    @Test func `the bytes of responses count as written`() {
        send("m1")
        send("m2")
        let written = session.assumeIsolated { $0.written }
        #expect(written == 2_000)
    }

    @Test func `a request with its token pauses reading only once another request follows`() {
        let create = CreateConversation(participants: [SubmitTests.alice], title: nil)
        let mutation = Mutation(create, in: ConversationID(checked: "d"), by: SubmitTests.alice)
        session.assumeIsolated { $0.submit(.write(mutation), nil, withToken: true) }
        #expect(!output.isPaused)
        session.assumeIsolated { $0.submit(.token, nil) }
        #expect(output.isPaused)
        node.settle()
        #expect(!output.isPaused)
        #expect(output.responses.map { $0.tokenText != nil } == [false, true, true])
    }

    private func startAnew() -> Bool { session.assumeIsolated { $0.startAnew() } }

    private var state: ConnectionState { session.assumeIsolated { $0.state } }

    @Test func `a session that starts anew has no setting and no sight of the one before`() {
        submit(.set(Request.SetLevel(level: .all, isStrict: true)))
        send("m1")
        #expect(state.isAckStrict && !state.writes.isEmpty)
        #expect(startAnew())
        #expect(!state.isAckStrict && state.writes.isEmpty)
    }

    @Test func `a session does not start anew while it waits or watches`() {
        let create = CreateConversation(participants: [SubmitTests.alice], title: nil)
        let mutation = Mutation(
            create, in: ConversationID(checked: "d"), by: SubmitTests.alice)
        session.assumeIsolated { $0.submit(.write(mutation), nil) }
        #expect(!startAnew())
        node.settle()
        #expect(startAnew())
        submit(.watch(Request.Watch(user: SubmitTests.alice, since: nil)))
        #expect(!startAnew())
    }
}
