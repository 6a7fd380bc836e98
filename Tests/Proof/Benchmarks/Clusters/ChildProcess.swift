import CSystem
import Glibc

/// A process that this one started, and that dies with it, however this one ends.
///
/// The child is started through this executable, which asks the kernel to kill it when its parent
/// dies and then executes the program: `grapevine-bench child <parent> <program> <argument>…`.
struct ChildProcess {
    enum End: Hashable, CustomStringConvertible {
        case exit(status: Int32)
        case signal(Int32)

        var description: String {
            switch self {
            case .exit(let status): "ended with exit status \(status)"
            case .signal(let signal): "was ended by signal \(signal)"
            }
        }
    }

    let processID: pid_t

    /// - Parameters:
    ///   - output: the file that becomes standard output, emptied first.
    ///   - errors: the file to which standard error is appended.
    init(
        _ program: String, _ arguments: [String], output: String, errors: String
    ) throws(BenchError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(
            &actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let words = ["grapevine-bench", "child", String(getpid()), program] + arguments
        let environment = try Files.read("/proc/self/environ").split(separator: 0).map {
            String(decoding: $0, as: UTF8.self)
        }
        var child = pid_t()
        let code = withCStrings(words) { words in
            withCStrings(environment) { environment in
                posix_spawn(&child, "/proc/self/exe", &actions, nil, words, environment)
            }
        }
        guard code == 0 else {
            errno = code
            throw Files.failure("starting \(program)")
        }
        processID = child
    }

    func send(_ signal: Int32) { kill(processID, signal) }

    /// Returns how the process ended; nil while it runs.
    ///
    /// To be called until it returns a value, and not afterwards.
    func collect() -> End? {
        var status: Int32 = 0
        guard waitpid(processID, &status, WNOHANG) == processID else { return nil }
        let signal = status & 0x7F
        return signal == 0 ? .exit(status: status >> 8 & 0xFF) : .signal(signal)
    }

    /// The second half of `init`, in the child: executes the program.
    ///
    /// - Returns: an exit status, if that failed.
    static func become(_ words: [String]) -> Int32 {
        guard words.count >= 2, let parent = Int32(words[0]), csystem_die_with_parent(parent) == 0
        else { return 70 }
        _ = withCStrings(Array(words.dropFirst())) { execv(words[1], $0) }
        perror("grapevine-bench: cannot run \(words[1])")
        return 71
    }
}

/// Passes words as a C array: pointers to zero-terminated strings, and a null after the last.
private func withCStrings<Answer>(
    _ words: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Answer
) -> Answer {
    let pointers = words.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers + [nil])
}
