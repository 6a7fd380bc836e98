import CRDT
import Chat
import Wire

extension View where Subject == ProfileView {
    static let profile = View(
        "PROFILE",
        [
            .name("user") { $0.user.text },
            .text("name") { $0.name },
            .text("email") { $0.email },
            .text("photo") { $0.photo },
            .time("createdAt") { $0.createdAt },
        ])
}

extension View where Subject == ItemView {
    static let action = View(
        "ACTION",
        [
            .name("id") { $0.id.text },
            .flag("done") { $0.isDone },
            .due("due") { $0.due },
            .text("priority") { $0.priority?.rawValue },
            .name("chat") { $0.chat?.text },
            .name("message") { $0.message?.text },
            .text("title") { $0.title },
        ])
}

extension View where Subject == DeviceView {
    static let device = View(
        "DEVICE",
        [
            .name("id") { $0.id.text },
            .text("token") { $0.token },
            .name("viewing") { $0.viewing?.text },
        ])
}

extension View where Subject == TokenHolder {
    static let holder = View(
        "HOLDER",
        [
            .name("user") { $0.user.text },
            .name("device") { $0.device.text },
            .number("stamp") { $0.registered.time.bits },
        ])
}

extension View where Subject == NotificationView {
    static let notification = View(
        "NOTIFICATION",
        [
            .name("id") { $0.id.text },
            .text("kind") { $0.kind.rawValue },
            .name("conversation") { $0.conversation.text },
            .name("message") { $0.message.text },
            .name("from") { $0.from.text },
            .text("fromName") { $0.fromName },
            .text("text") { $0.text },
            .flag("pushed") { $0.isPushed },
        ])
}

extension View where Subject == BlockView {
    static let block = View(
        "BLOCKED", [.name("other") { $0.user.text }, .time("at") { $0.since }])
}

extension View where Subject == AccountView {
    static let account = View(
        "ACCOUNT",
        [
            .name("user") { $0.user.text },
            .name("address") { $0.address.text },
            .text("email") { $0.email },
            .time("createdAt") { $0.createdAt },
            .flag("disabled") { $0.isDisabled },
            .count("signins") { $0.signInsCount },
            .number("stamp") { $0.signedInAt > .zero ? $0.signedInAt.bits : nil },
            .text("password") { $0.password },
        ])
}

extension View where Subject == Signing.Key {
    static let key = View(
        "KEY",
        [
            .name("id") { $0.id.text },
            .text("secret") { $0.secret.text },
            .number("stamp") { $0.created.time.bits },
        ])
}

extension View where Subject == Signing.Revocation {
    static let revocation = View(
        "REVOKED", [.name("name") { $0.name.text }, .number("through") { $0.time.bits }])
}

extension View where Subject == FileView {
    static let file = View(
        "FILE",
        [
            .name("id") { $0.id.text },
            .name("from") { $0.owner.text },
            .text("type") { $0.type },
            .number("size") { $0.size },
            .name("message") { $0.message?.text },
            .text("tag") { $0.tag },
            .time("at") { $0.createdAt },
        ])
}

extension View where Subject == [UInt8] {
    static let part = View("PART", [.text("bytes") { Base64.encode($0) }])
}
