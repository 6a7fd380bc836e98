import Chat
import Wire

/// The check of the names that a request gives to what it makes.
///
/// In the path of an address `.` and `..` are no names (RFC 3986, section 5.2.4): what is called so
/// cannot be named over HTTP, neither to show it nor to remove it. What has such a name from before
/// goes on over lines.
extension Request {
    /// - Throws: 400.
    func checkNewNames() throws(LineError) {
        guard case .write(let mutation, _) = self, makesDots(mutation) else { return }
        throw .dotsAreNoName
    }
}

extension LineError {
    static let dotsAreNoName = LineError(400, "Nothing new is called . or ..")
}

/// Whether something or somebody that the mutation makes known is called `.` or `..`.
private func makesDots(_ mutation: Mutation) -> Bool {
    let (partition, user) = (mutation.subject.partition, mutation.user.text)
    return switch mutation.action {
    case .conversation(let action):
        (action is CreateConversation && isDots(partition))
            || action.added.contains { isDots($0.text) }
    case .message(let message, let action): action.mayBeMinted && isDots(message.text)
    case .item(.add), .profile: isDots(partition) || isDots(user)
    case .device(let device, .add), .device(let device, .register):
        isDots(device.text) || isDots(user)
    case .credentials(.signUp): isDots(user)
    case .file(let file, .begin): isDots(file.text)
    default: false
    }
}

private func isDots(_ name: String) -> Bool {
    name.utf8.count <= 2 && name.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
}
