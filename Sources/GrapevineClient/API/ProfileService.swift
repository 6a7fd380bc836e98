/// What users tell others of themselves: it takes the place of a `UserProfileManager`.
public struct ProfileService: Sendable {
    let engine: Engine

    /// Returns what this device knows of a user.
    ///
    /// - Throws: 401 if nobody is signed in.
    public func profile(of userId: String) async throws(GrapevineError) -> UserProfile {
        try await engine.read { core throws(StoreError) in try core.profile(of: userId) }
    }

    /// Returns a stream of what is known of users, in the order of their ids.
    public func profiles(of userIds: [String]) -> AsyncStream<[UserProfile]> {
        engine.stream(.profiles) { engine throws(StoreError) in
            var list: [UserProfile] = []
            for user in userIds.sorted() {
                if let core = engine.core { list.append(try core.profile(of: user)) }
            }
            return list
        }
    }

    /// Changes the user's own profile; nil leaves a field as it is, and an empty text clears it.
    ///
    /// - Throws: 400 for a text that is too long.
    public func setProfile(
        displayName: String? = nil, photoURL: String? = nil
    ) async throws(GrapevineError) {
        try await engine.act(.setProfile(name: displayName, photo: photoURL))
    }

    /// Has notifications sent to this device.
    ///
    /// - Parameters:
    ///   - token: the address that the operator's push server understands.
    ///   - deviceId: an id that this device keeps.
    /// - Throws: the error of the last node that was asked.
    public func registerDevice(
        token: String, deviceId: String
    ) async throws(GrapevineError) {
        _ = try await engine.request(
            Request(
                method: .put, path: "/v1/devices/" + encoded(deviceId),
                body: ["token": .text(token)]))
    }
}
