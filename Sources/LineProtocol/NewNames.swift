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
        guard case .write(let mutation, _) = self,
            mutation.action.makesName(at: mutation.key, by: mutation.user, where: isDots)
        else { return }
        throw .dotsAreNoName
    }
}

extension LineError {
    static let dotsAreNoName = LineError(400, "Nothing new is called . or ..")
}

private func isDots(_ name: String) -> Bool {
    name.utf8.count <= 2 && name.utf8.allSatisfy { $0 == UInt8(ascii: ".") }
}
