import CRDT
import Wire

/// The removal of what a user has stored about themselves.
extension Document {
    /// Whether the document lacks a text of `old` that must be removed from disk: one that its user
    /// has cleared, or a secret that does not hold any more.
    public func discards(_ old: Document) -> Bool {
        switch (content, old.content) {
        case (.profile(let new), .profile(let old)): new.discards(old)
        case (.credentials(let new), .credentials(let old)): new.discards(old)
        case (.device(let new), .device(let old)): old.token != nil && new.token != old.token
        default: false
        }
    }
}

extension Profile {
    func discards(_ old: Profile) -> Bool {
        old.name != nil && name == nil || old.email != nil && email == nil
            || old.photo != nil && photo == nil
    }
}

extension Credentials {
    func discards(_ old: Credentials) -> Bool {
        old.present.contains { account in
            guard let kept = self.account(of: account.user), kept.isPresent else { return true }
            return !haveSameBytes(kept.password, account.password)
                || !haveSameBytes(kept.email, account.email)
        }
    }
}
