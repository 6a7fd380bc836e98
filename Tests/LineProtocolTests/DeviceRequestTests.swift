import Chat
import Testing
import Wire

@testable import LineProtocol

struct DeviceRequestTests {
    private let alice = UserID(checked: "alice")
    private let phone = DeviceID(checked: "phone")

    @Test func `each verb of a device is read`() {
        let device = Request.OfDevice(user: alice, device: phone)
        let id = NotificationID(checked: "n-1")
        let cases: [(String, Request)] = [
            (
                "device add alice phone token=\"a b\"",
                .deviceAdd(.init(user: alice, device: phone, token: "a b"))
            ),
            ("DEVICE remove alice phone", .deviceRemove(device)),
            ("VIEWING alice phone", .viewing(.init(user: alice, device: phone, conversation: nil))),
            (
                "VIEWING alice phone c1",
                .viewing(
                    .init(user: alice, device: phone, conversation: ConversationID(checked: "c1")))
            ),
            ("NOTIFICATIONS alice phone", .notifications(device)),
            (
                "NOTIFIED alice phone n-1",
                .notified(.init(user: alice, device: phone, notification: id))
            ),
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
            "NOTIFIED alice phone n/1", "NOTIFICATIONS alice pho,ne",
        ] {
            #expect(refused(line)?.code == 400)
        }
    }
}
