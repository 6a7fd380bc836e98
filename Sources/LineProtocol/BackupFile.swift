import Wire

/// Where a backup may go.
///
/// Whoever reaches the admin port can have a file made, with texts of their own in it. So it is one
/// that no other program takes for its own: among the backups, or under a name that says that it is
/// data; never `authorized_keys`, a shell's profile or a timer's table.
enum BackupFile {
    /// What an absolute path must end in.
    static let endings = [".sqlite", ".db", ".backup", ".bak"]
    /// The most bytes of a path (400): a quarter of what the system takes.
    static let pathBytesMax = 1_024

    /// The name of a node's own database: in an empty folder it would be another node's.
    static let databaseName = "grapevine.sqlite"

    static func isAllowed(_ text: String) -> Bool {
        text.utf8.first == UInt8(ascii: "/") ? isPath(text) : isPlain(text)
    }

    /// A name that no folder has, nor a file that is hidden.
    private static func isPlain(_ text: String) -> Bool {
        isName(text.utf8) && text.utf8.first != UInt8(ascii: ".") && text != databaseName
    }

    private static func isPath(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: true)
        guard text.utf8.count <= pathBytesMax, text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }),
            let last = parts.last, last != databaseName, text.utf8.last != UInt8(ascii: "/")
        else { return false }
        return !parts.contains { $0 == "." || $0 == ".." } && last.utf8.first != UInt8(ascii: ".")
            && endings.contains { last.hasSuffix($0) }
    }
}

extension ParsedLine {
    /// The name or path of a backup.
    func backupFile(_ index: Int) throws(LineError) -> String {
        guard let text = LineProtocol.text(bytes(ofArgument: index)), BackupFile.isAllowed(text)
        else {
            throw refused(
                "<file> must be a name, or an absolute path ending in "
                    + BackupFile.endings.joined(separator: ", ")
                    + ", and not " + BackupFile.databaseName)
        }
        return text
    }
}
