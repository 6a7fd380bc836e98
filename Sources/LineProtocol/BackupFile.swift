import Wire

/// The rule for the files that a backup may create.
///
/// Any client of the admin port can create a backup file that contains text of the client's choice.
/// So the file must be one that no other program reads as its own: either a name in the folder of
/// backups, or a path whose ending marks a data file. `authorized_keys`, a shell's profile and a
/// crontab are therefore refused.
enum BackupFile {
    /// The endings that are allowed for an absolute path.
    static let endings = [".sqlite", ".db", ".backup", ".bak"]
    /// The most bytes of a path (400): a quarter of the operating system's limit.
    static let pathBytesMax = 1_024

    /// The name of a node's own database.
    ///
    /// A node would open a backup of this name in an empty folder as another node's database.
    static let databaseName = "grapevine.sqlite"

    static func isAllowed(_ text: String) -> Bool {
        text.utf8.first == UInt8(ascii: "/") ? isPath(text) : isPlain(text)
    }

    /// Whether the text is a name without the leading dot of `.`, `..` and hidden files.
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
    /// Returns the name or path of a backup file.
    ///
    /// - Throws: 400 for a name or path that is not allowed.
    func backupFile(_ index: Int) throws(LineError) -> String {
        guard let text = String(utf8: bytes(ofArgument: index)), BackupFile.isAllowed(text)
        else {
            throw refused(
                "<file> must be a name, or an absolute path ending in "
                    + BackupFile.endings.joined(separator: ", ")
                    + ", and not " + BackupFile.databaseName)
        }
        return text
    }
}
