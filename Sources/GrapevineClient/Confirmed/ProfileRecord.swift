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

    /// Whether nodes have told, of each field of the other record, a change at its time or later.
    func includes(_ other: ProfileRecord) -> Bool {
        name.includes(other.name) && email.includes(other.email) && photo.includes(other.photo)
    }

    mutating func merge(_ other: ProfileRecord) {
        name.merge(other.name)
        email.merge(other.email)
        photo.merge(other.photo)
        if let theirs = other.created { created = min(created ?? theirs, theirs) }
    }

    /// The time of the last change of any field.
    var lastChange: ExactTime {
        [name.time, email.time, photo.time].compactMap(\.self).max() ?? .zero
    }
}
