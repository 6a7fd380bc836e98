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
    func removeDevices(of user: UserID, registeredBy signIn: String? = nil) async {
        guard case .success(let reply) = await ask("DEVICES \(user)") else { return }
        for (_, fields) in reply.lines {
            guard let id = fields["id"] else { continue }
            _ = await write("DEVICE REMOVE \(user) \(id) signin=\(signIn ?? "*")")
        }
    }
}
