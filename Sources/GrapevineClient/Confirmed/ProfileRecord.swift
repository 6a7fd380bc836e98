/// What nodes have told of a user's profile: each field with the time of its last change.
struct ProfileRecord: Equatable, Codable, Sendable {
    let user: String
    var name = Register(Maybe())
    var email = Register(Maybe())
    var photo = Register(Maybe())
    var created: ExactTime?

    init(user: String) {
        self.user = user
    }

    mutating func merge(_ other: ProfileRecord) {
        name.merge(other.name)
        email.merge(other.email)
        photo.merge(other.photo)
        if let theirs = other.created { created = min(created ?? theirs, theirs) }
    }
}
