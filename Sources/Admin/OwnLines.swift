import CRDT
import Chat
import LineProtocol

/// The data lines of profiles and action items.
extension ReplyWriter {
    mutating func profile(_ profile: ProfileView) {
        line("PROFILE") { $0.profile(profile) }
    }

    mutating func action(_ item: ItemView) {
        line("ACTION") { $0.action(item) }
    }
}

extension ReplyPairs {
    mutating func profile(_ profile: ProfileView) {
        pair("user", profile.user)
        pair("name", profile.name)
        pair("email", profile.email)
        pair("photo", profile.photo)
        pair("createdAt", time: profile.createdAt.lineTime)
    }

    mutating func action(_ item: ItemView) {
        pair("id", item.id)
        flag("done", item.isDone)
        pair("due", time: item.due?.milliseconds)
        pair("priority", item.priority)
        pair("chat", item.chat)
        pair("message", item.message)
        pair("title", item.title)
    }
}
