import Admin
import Chat
import LineProtocol
import Wire

/// The ends of devices with the sign-ins that registered them.
extension Accounts {
    /// Removes the devices that a sign-in of a user has registered, or all sign-ins of theirs.
    ///
    /// A device that is not reached ends as well: whoever asks for its notifications asks first
    /// whether its sign-in goes on.
    ///
    /// - Parameter signIn: nil for all of them.
    func removeDevices(of user: UserID, registeredBy signIn: SignInID? = nil) async {
        let known: [DeviceView]
        do throws(LineError) {
            known = try await devices(of: user)
        } catch {
            return
        }
        for device in known {
            await attempt(Mutation(.removeSignedOut(signIn), on: device.id, by: user))
        }
    }

    func devices(of user: UserID) async throws(LineError) -> [DeviceView] {
        try await find(DevicesQuery(of: user), of: user).found
    }
}
