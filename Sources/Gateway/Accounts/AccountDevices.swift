import Admin
import Chat
import LineProtocol
import Wire

/// The removal of a user's devices for notifications when the sign-ins that registered them end.
extension Accounts {
    /// Removes the devices that one sign-in of a user, or any of the user's sign-ins, has
    /// registered.
    ///
    /// If a removal fails, the device is removed later by the command `NOTIFICATIONS`. Before this
    /// command lists the notifications of a device, it removes the device if the sign-in that
    /// registered it has ended.
    ///
    /// - Parameter signIn: the sign-in that has ended; nil for all sign-ins of the user.
    func removeDevices(of user: UserID, registeredBy signIn: SignInID? = nil) async {
        let known: [DeviceView]
        do throws(LineError) {
            known = try await devices(of: user)
        } catch {
            return
        }
        for device in known {
            await attempt(Mutation(RemoveSignedOut(signIn), on: device.id, by: user))
        }
    }

    func devices(of user: UserID) async throws(LineError) -> [DeviceView] {
        try await find(DevicesQuery(of: user), of: user).found
    }
}
