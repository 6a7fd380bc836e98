import Glibc

/// The reason why a key file cannot be used, with an error message for the person who named the
/// file.
package enum KeyFileError: Error, Hashable, Sendable {
    /// The file cannot be read; the value is the `errno`.
    case unreadable(Int32)
    case notAFile
    /// The file's group, or all users of the machine, may read or change the file.
    case open
    case tooLong
    case empty
    case tooManyKeys(Int)
    /// A line of the key file, counted from 1, is not a valid key.
    case badKey(line: Int, Fault)

    package enum Fault: Hashable, Sendable {
        case short(Int)
        case long(Int)
        case unprintable
        case looksLikeOption
        case guessable
    }

    private static let making = "openssl rand -hex 32 makes one"

    /// Returns an error message with advice for the operator.
    ///
    /// - Parameters:
    ///   - path: the path of the key file, as the operator gave it.
    ///   - option: the command-line option that gave the path.
    package func sentence(of path: String, option: String = "--key-file") -> String {
        let said =
            switch self {
            case .unreadable(ENOENT):
                "is not there: openssl rand -hex 32 > \(path), and the same file on every node"
            case .unreadable(let code): "cannot be read: \(String(cString: strerror(code)))"
            case .notAFile: "is not a file"
            case .open:
                "can be read or changed by others than its owner: chmod 600 \(path)"
            case .tooLong: "is longer than \(KeyFile.bytesMax) bytes, and so not a key file"
            case .empty: "holds no key: openssl rand -hex 32 > \(path)"
            case .tooManyKeys(let count):
                "holds \(count) keys, and at most \(KeyFile.keysMax) have a meaning: the one that "
                    + "this node says, and another that it believes"
            case .badKey(let line, let fault):
                "line \(line) is not a key: \(fault.sentence); \(KeyFileError.making)"
            }
        return "\(option) \(path) \(said)"
    }
}

extension KeyFileError.Fault {
    var sentence: String {
        switch self {
        case .short(let count): "\(count) characters, at least \(Key.bytesMin) are safe"
        case .long(let count): "\(count) characters, at most \(Key.bytesMax) are allowed"
        case .unprintable: "it has a space, or a character that is not printable ASCII"
        case .looksLikeOption: "it begins like an option, with small letters and ="
        case .guessable: "it can be guessed, as it repeats itself or has too few characters in it"
        }
    }
}

/// The file with the secret keys that the nodes of a cluster share: one or two keys, each on a
/// line.
///
/// Empty lines and lines that begin with `#` are ignored. Two keys allow a change from one key to
/// the other, node by node.
package enum KeyFile {
    /// The maximum size of a key file, in bytes: enough for two keys and some comments, so that a
    /// disk image named by mistake does not fill the memory.
    package static let bytesMax = 4 * 1024
    package static let keysMax = 2

    /// Reads the file with the cluster's keys.
    ///
    /// Only the file's owner may have access to it, as with the private keys of OpenSSH.
    package static func read(_ path: String) throws(KeyFileError) -> KeyRing {
        try parse(contents(of: path, bytesMax: bytesMax))
    }

    /// Reads a file with a key or a certificate.
    ///
    /// - Parameter isSecret: whether only the file's owner may have access to the file.
    package static func contents(
        of path: String, bytesMax: Int, isSecret: Bool = true
    ) throws(KeyFileError) -> [UInt8] {
        // `O_NONBLOCK`: opening a pipe does not wait for its writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile }
        guard !isSecret || status.st_mode & (S_IRWXG | S_IRWXO) == 0 else { throw .open }
        return try contents(of: descriptor, bytesMax: bytesMax)
    }

    private static func contents(
        of descriptor: Int32, bytesMax: Int
    ) throws(KeyFileError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(
                    descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
            }
            if read > 0 {
                count += read
            } else if read == 0 {
                return Array(bytes[..<count])
            } else if errno != EINTR {
                throw .unreadable(errno)
            }
        }
        throw .tooLong
    }

    static func parse(_ bytes: [UInt8]) throws(KeyFileError) -> KeyRing {
        guard bytes.count <= bytesMax else { throw .tooLong }
        var keys: [Key] = []
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in zip(1..., lines) {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard let first = line.first, first != UInt8(ascii: "#") else { continue }
            keys.append(try key(Array(line), line: number))
        }
        guard keys.count <= keysMax else { throw .tooManyKeys(keys.count) }
        guard let first = keys.first else { throw .empty }
        return KeyRing(first, keys.dropFirst().first)
    }

    private static func key(_ bytes: [UInt8], line: Int) throws(KeyFileError) -> Key {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let key = Key(text) else { throw .badKey(line: line, fault(of: bytes)) }
        guard !Key.isGuessable(bytes) else { throw .badKey(line: line, .guessable) }
        return key
    }

    private static func fault(of bytes: [UInt8]) -> KeyFileError.Fault {
        guard bytes.allSatisfy({ (0x21...0x7e).contains($0) }) else { return .unprintable }
        if bytes.count < Key.bytesMin { return .short(bytes.count) }
        if bytes.count > Key.bytesMax { return .long(bytes.count) }
        return .looksLikeOption
    }
}
