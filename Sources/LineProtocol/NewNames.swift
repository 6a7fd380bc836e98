import Chat
import Wire

/// The check of the names that a request gives to objects that it creates.
///
/// A URL's path cannot contain the names `.` and `..` (RFC 3986, section 5.2.4), so HTTP clients
/// could neither show nor remove an object with such a name. An object that already has such a name
/// can still be shown and removed over lines.
extension Request {
    /// - Throws: 400 if the request creates an object named `.` or `..`.
    func checkNewNames() throws(LineError) {
        guard case .write(let mutation, _, _) = self,
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
