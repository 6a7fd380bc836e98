import CRDT
import Chat
import Testing
import Wire

@testable import LineProtocol

struct DeviceRequestTests {
    private let alice = UserID(checked: "alice")
    private let phone = DeviceID(checked: "phone")
    private let signIn = DeviceSignIn(
        address: AddressID(checked: "a1"), id: SignInID(checked: "s1"),
        began: HybridTimestamp(bits: 65_536))

    @Test func `each verb of a device is read`() {
        let id = NotificationID(checked: "n-1")
        func write(_ action: any DeviceAction) -> Request {
            .write(Mutation(action, on: phone, by: alice))
        }
        let cases: [(String, Request)] = [
            (
                "device add alice phone token=\"a b\"",
                write(RegisterDevice(FieldText("a b"), DeviceRegistration(signIn: nil)))
            ),
            (
                "DEVICE ADD alice phone token=t signin=a1,s1,65536",
                write(RegisterDevice(FieldText("t"), DeviceRegistration(signIn: signIn)))
            ),
            ("DEVICE REMOVE alice phone signin=s1", write(RemoveSignedOut(signIn.id))),
            ("DEVICE REMOVE alice phone signin=*", write(RemoveSignedOut(nil))),
            ("DEVICE remove alice phone", write(RemoveDevice())),
            ("DEVICE REMOVE alice phone token=t", write(RemoveToken(FieldText("t")))),
            ("DEVICES alice", .list(DevicesQuery(of: alice), of: alice, .whole)),
            ("VIEWING alice phone", write(ViewConversation(nil))),
            ("VIEWING alice phone c1", write(ViewConversation(ConversationID(checked: "c1")))),
            (
                "VIEWING alice phone c1 lease=true",
                write(LeaseView(ConversationID(checked: "c1")))
            ),
            ("VIEWING alice phone lease=true", write(ViewConversation(nil))),
            (
                "VIEWING alice phone upto=65536",
                write(EndLeasedView(upTo: HybridTimestamp(bits: 65_536)))
            ),
            ("NOTIFICATIONS alice phone", .notifications(phone, of: alice, .whole)),
            ("NOTIFIED alice phone n-1", write(AcknowledgeThrough(id))),
            ("NOTIFIED alice phone n-1 only=false", write(AcknowledgeThrough(id))),
            ("NOTIFIED alice phone n-1 only=true", write(AcknowledgeAlone(id))),
            ("NOTIFIED alice phone n-1 pushed=message", write(NotePushed(id, as: .message))),
            ("NOTIFIED alice phone n-1 pushed=withdrawn", write(NotePushed(id, as: .withdrawn))),
        ]
        for (line, request) in cases { #expect(parsed(line) == .success(request)) }
    }

    @Test func `a token is neither missing nor empty nor too long`() {
        #expect(refused("DEVICE ADD alice phone")?.code == 400)
        #expect(refused("DEVICE ADD alice phone token=")?.code == 400)
        let long = String(repeating: "x", count: LineLimits.fieldBytesMax + 1)
        #expect(refused("DEVICE ADD alice phone token=\(long)")?.code == 413)
        #expect(refused("DEVICE ADD alice phone token=\(long.dropLast())") == nil)
    }

    @Test func `what is missing or too much is refused`() {
        for line in [
            "DEVICE", "DEVICE ALTER alice phone", "DEVICE REMOVE alice", "VIEWING alice",
            "VIEWING alice phone c1 c2", "NOTIFICATIONS alice", "NOTIFIED alice phone",
            "VIEWING alice phone c1 upto=65536", "VIEWING alice phone upto=x",
            "DEVICE ADD alice phone token=t signin=s1", "DEVICE REMOVE alice phone signin=",
            "DEVICE REMOVE alice phone token=", "NOTIFIED alice phone n/1",
            "NOTIFIED alice phone n-1 only=1", "NOTIFIED alice phone n-1 pushed=true",
            "NOTIFICATIONS alice pho,ne",
        ] {
            #expect(refused(line)?.code == 400)
        }
    }
}
