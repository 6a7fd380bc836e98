import Crypto
import JSON
import Testing
import Wire

@testable import Chat
@testable import Gateway

@Suite struct PushFormatTests {
    private static let endpoint = "https://push.example.org:8443/send/abc"
    private static let secret = Array("0123456789abcdef0123456789abcdef".utf8)

    private func token(
        endpoint: String = PushFormatTests.endpoint, key: [UInt8] = ECKeyPair.generate().publicKey,
        secret: [UInt8] = Array(repeating: 7, count: 16)
    ) -> String {
        """
        {"endpoint":"\(endpoint)","expirationTime":null,\
        "keys":{"p256dh":"\(Base64.encode(key))","auth":"\(Base64.encode(secret))"}}
        """
    }

    private func notification(_ text: String = "noodles?") -> PushNotification {
        PushNotification(
            view: NotificationView(
                id: NotificationID(checked: "7"), conversation: ConversationID(checked: "lunch"),
                message: MessageID(checked: "m1"), from: UserID(checked: "alice"),
                fromName: "Alice", text: text),
            user: UserID(checked: "bob"), device: DeviceID(checked: "phone"), badge: 3)
    }

    private func format(webhook: String? = nil) throws -> PushFormat {
        try #require(
            PushFormat(
                secret: PushFormatTests.secret, webhook: webhook, contact: "mailto:a@example.org"))
    }

    @Test func `a token is read as a subscription where it is a whole one`() throws {
        let subscription = try #require(Subscription(token()))
        #expect(subscription.endpoint == PushFormatTests.endpoint)
        #expect(subscription.origin == "https://push.example.org:8443")
        for endpoint in ["", "push.example.org/a", "ftp://push.example.org/a", "https:///a"] {
            #expect(Subscription(token(endpoint: endpoint)) == nil, "\(endpoint)")
        }
        #expect(Subscription(token(key: [4])) == nil)
        #expect(Subscription(token(secret: [7])) == nil)
        #expect(Subscription("fcm:abc") == nil && Subscription("{}") == nil)
    }

    @Test func `tokens of other kinds are taken where the operator has named a server`() throws {
        let (alone, hooked) = (try format(), try format(webhook: "https://example.org/hook"))
        let origin = "https://push.example.org:8443"
        #expect(alone.server(of: token()) == origin && alone.server(of: "fcm:abc") == nil)
        #expect(hooked.server(of: token()) == origin)
        #expect(hooked.server(of: "fcm:abc") == "https://example.org/hook")
        #expect(alone.request(notification(), to: "fcm:abc", wallMilliseconds: 0) == nil)
    }

    @Test func `a browser's service is shown who sends, and nothing of what is sent`() throws {
        let request = try #require(
            try format().request(notification(), to: token(), wallMilliseconds: 1_000))
        #expect(request.url == PushFormatTests.endpoint && !request.isWebhook)
        let fields = Dictionary(uniqueKeysWithValues: request.headers)
        #expect(fields["Content-Encoding"] == "aes128gcm")
        #expect(try fields["Authorization"]?.contains("k=" + format().publicKey) == true)
        #expect(request.body.firstRange(of: Array("noodles".utf8)) == nil)
    }

    @Test func `the operator's server is told everything, signed with the time`() throws {
        let format = try format(webhook: "https://example.org/hook")
        let request = try #require(
            format.request(notification(), to: "fcm:abc", wallMilliseconds: 5_000))
        #expect(request.url == "https://example.org/hook" && request.isWebhook)
        let value = try JSONValue(reading: request.body)
        #expect(value["token"] == .text("fcm:abc") && value["text"] == .text("noodles?"))
        let key = Digest.hmacSHA256("webhook".utf8, key: PushFormatTests.secret)
        let code = Digest.hmacSHA256(Array("5.".utf8) + request.body, key: key)
        let digits = hexadecimal(code)
        let fields = Dictionary(uniqueKeysWithValues: request.headers)
        #expect(fields["Grapevine-Signature"] == "t=5,v1=\(digits)")
    }

    @Test func `a preview that is too long is cut off, never a character`() throws {
        let text = String(repeating: "é", count: 4_000)
        for bytesMax in [300, 1_000, WebPush.payloadBytesMax] {
            let json = notification(text).json(bytesMax: bytesMax)
            #expect(json.count <= bytesMax)
            guard case .text(let preview)? = try JSONValue(reading: json)["text"] else {
                Issue.record("no preview")
                continue
            }
            #expect(!preview.isEmpty && text.hasPrefix(preview))
        }
    }

    @Test func `all nodes have one key, and another secret has another`() throws {
        #expect(try format().publicKey == format().publicKey)
        let other = PushFormat(
            secret: Array(PushFormatTests.secret.reversed()), webhook: nil, contact: "")
        #expect(try other?.publicKey != format().publicKey)
    }
}
