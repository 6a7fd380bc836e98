import Foundation

/// What a user tells others of themselves.
public struct UserProfile: Identifiable, Hashable, Sendable {
    /// The id of the user.
    public var id: String
    /// The name, at most 1,024 bytes of UTF-8; empty if the user has set none.
    public var displayName: String
    /// The e-mail address, if this user may see it.
    public var email: String?
    /// The address of a picture.
    public var photoURL: String?
    /// The time at which the user signed up; nil if it is not known.
    public var createdAt: Date?

    /// Makes a profile.
    public init(
        id: String, displayName: String = "", email: String? = nil, photoURL: String? = nil,
        createdAt: Date? = nil
    ) {
        self.id = id
        self.displayName = displayName
        self.email = email
        self.photoURL = photoURL
        self.createdAt = createdAt
    }
}

extension UserProfile: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, displayName, email, photoURL, createdAt
    }

    /// Reads a profile with the keys of any app.
    ///
    /// - Throws: `DecodingError` if a value has another type.
    public init(from decoder: any Decoder) throws {
        let fields = try Aliases(decoder)
        self.init(
            id: try fields.value("id", "userId", "user") ?? "",
            displayName: try fields.value("displayName", "name") ?? "",
            email: try fields.value("email"),
            photoURL: try fields.value("photoURL", "photo"),
            createdAt: try fields.date("createdAt"))
    }
}
