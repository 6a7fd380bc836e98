import Chat
import Crypto
import JSON
import LineProtocol
import Wire

/// A notification to push to one device, with the user's number of unread messages.
struct PushNotification {
    let view: NotificationView
    let user: UserID
    let device: DeviceID
    /// The number of messages that the user has not read.
    let badge: Int

    /// Returns the JSON payload of the notification.
    ///
    /// - Parameters:
    ///   - token: the device's push token, for the webhook; nil in a payload for the device itself.
    ///   - bytesMax: the maximum size of the payload in bytes; the message preview is cut to fit.
    func json(token: String? = nil, bytesMax: Int) -> [UInt8] {
        var preview = view.text
        while true {
            var writer = JSONWriter()
            writer.object {
                $0.pair("id", view.id.text)
                $0.pair("kind", view.kind.rawValue)
                $0.pair("user", user.text)
                $0.pair("device", device.text)
                if let token { $0.pair("token", token) }
                $0.pair("conversation", view.conversation.text)
                $0.pair("message", view.message.text)
                $0.pair("from", view.from.text)
                if let fromName = view.fromName { $0.pair("fromName", fromName) }
                if let preview { $0.pair("text", preview) }
                $0.pair("badge", badge)
            }
            guard writer.bytes.count > bytesMax, let long = preview, !long.isEmpty else {
                return writer.bytes
            }
            preview = String(long.prefix(long.count / 2))
        }
    }
}

/// The encoder of push requests, which go to browsers' push services or to the operator's webhook.
///
/// A device whose push token is a browser's subscription gets pushes by Web Push (RFC 8030). Pushes
/// to other devices go to the webhook, which forwards them to other push services.
package struct PushFormat: Sendable {
    private let vapid: ECKeyPair
    /// The HMAC key that signs requests to the operator's webhook.
    private let webhookKey: [UInt8]
    /// The URL of the operator's webhook; nil if there is none.
    private let webhook: String?
    /// The operator's contact for push services, as the VAPID claim `sub`: `mailto:…` or `https:…`.
    private let contact: String

    /// How long a push service stores a notification for an offline device (`TTL`), in seconds.
    private static let keptSeconds = 86_400
    private static let webhookBytesMax = 16 << 10
    /// The lifetime of the VAPID token for a push service, in seconds.
    private static let authorizationSeconds: Int64 = 12 * 3_600

    /// - Parameters:
    ///   - secret: a secret that all nodes share, from which each node derives the same VAPID key
    ///     pair, which signs requests to push services, and the same HMAC key for requests to the
    ///     webhook.
    ///   - contact: the operator's contact for push services, `mailto:…` or `https:…`.
    package init?(secret: [UInt8], webhook: String?, contact: String) {
        // Nearly every hash is a valid private key; the first valid one is the cluster's key.
        let candidates = (0..<8).lazy.compactMap { number in
            ECKeyPair(privateKey: Digest.hmacSHA256("vapid \(number)".utf8, key: secret))
        }
        guard let vapid = candidates.first else { return nil }
        self.vapid = vapid
        webhookKey = Digest.hmacSHA256("webhook".utf8, key: secret)
        self.webhook = webhook
        self.contact = contact
    }

    /// The public VAPID key, which browsers need to subscribe to Web Push, in base64url.
    package var publicKey: String { Base64.encode(vapid.publicKey) }

    /// Returns the server that gets pushes to a device token: the scheme and host of the browser's
    /// push service, or the webhook's URL; nil if there is neither.
    func server(of token: String) -> String? { Subscription(token)?.origin ?? webhook }

    /// Returns the HTTP request that pushes a notification to a device; nil for an invalid token.
    func request(
        _ notification: PushNotification, to token: String, wallMilliseconds: UInt64
    ) -> PushRequest? {
        if let subscription = Subscription(token) {
            return request(notification, to: subscription, wallMilliseconds / 1_000)
        }
        guard let webhook else { return nil }
        let body = notification.json(token: token, bytesMax: PushFormat.webhookBytesMax)
        let time = "\(wallMilliseconds / 1_000)"
        let code = Digest.hmacSHA256(Array("\(time).".utf8) + body, key: webhookKey)
        return PushRequest(
            url: webhook,
            headers: [
                ("Content-Type", "application/json"),
                ("Grapevine-Push-Id", notification.view.id.text),
                ("Grapevine-Signature", "t=\(time),v1=\(hexadecimal(code))"),
            ], body: body, isWebhook: true)
    }

    private func request(
        _ notification: PushNotification, to subscription: Subscription, _ seconds: UInt64
    ) -> PushRequest? {
        let payload = notification.json(bytesMax: WebPush.payloadBytesMax)
        let salt = (0..<WebPush.saltBytes).map { _ in UInt8.random(in: 0...255) }
        guard
            let body = WebPush.encrypt(
                payload, for: subscription.key, auth: subscription.secret, salt: salt,
                ephemeral: .generate()),
            let authorization = WebPush.authorization(
                audience: subscription.origin, subject: contact,
                expiresAt: Int64(seconds) + PushFormat.authorizationSeconds, key: vapid,
                base64url: Base64.encode)
        else { return nil }
        return PushRequest(
            url: subscription.endpoint,
            headers: [
                ("Content-Type", "application/octet-stream"), ("Content-Encoding", "aes128gcm"),
                ("TTL", "\(PushFormat.keptSeconds)"), ("Urgency", "high"),
                ("Authorization", authorization),
            ], body: body, isWebhook: false)
    }
}

/// A browser's subscription to its push service, in the form of `PushSubscription.toJSON()`.
struct Subscription: Hashable, Sendable {
    let endpoint: String
    /// The scheme and the host of the push service's URL.
    let origin: String
    let key: [UInt8]
    let secret: [UInt8]

    /// - Returns: nil for a push token that is no Web Push subscription.
    init?(_ token: String) {
        guard token.first == "{", let value = Subscription.json(token),
            case .text(let endpoint)? = value["endpoint"],
            case .text(let key)? = value["keys"]?["p256dh"],
            case .text(let secret)? = value["keys"]?["auth"],
            let keyBytes = Base64.decode(key), keyBytes.count == ECKeyPair.publicBytes,
            let secretBytes = Base64.decode(secret), secretBytes.count == WebPush.secretBytes
        else { return nil }
        let parts = endpoint.split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "https:" || parts[0] == "http:", parts[1].isEmpty,
            !parts[2].isEmpty
        else { return nil }
        self.endpoint = endpoint
        origin = "\(parts[0])//\(parts[2])"
        self.key = keyBytes
        self.secret = secretBytes
    }

    private static func json(_ text: String) -> JSONValue? {
        do throws(JSONError) {
            return try JSONValue(reading: Array(text.utf8))
        } catch {
            return nil
        }
    }
}
