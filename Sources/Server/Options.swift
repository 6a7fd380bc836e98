import Manual

/// An error in the words of a command line, with advice about it.
package struct UsageError: Error, Hashable, Sendable {
    package let sentence: String

    package init(_ sentence: String) { self.sentence = sentence }
}

/// The options of a command line: `--name value` or `--name=value`, each at most once, and flags.
struct Options {
    private var values: [String: String] = [:]

    /// - Parameter help: the options that the command takes.
    init(_ words: [String], of help: CommandHelp) throws(UsageError) {
        let flags = Set(help.options.filter(\.isFlag).map(\.name))
        let known = Set(help.options.map(\.name))
        var rest = words[...]
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                throw UsageError("unexpected word: \(word)")
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard known.contains(name) else {
                throw UsageError("unknown option: \(name)")
            }
            guard values[name] == nil else { throw UsageError("\(name) is given twice") }
            if flags.contains(name) {
                guard parts.count == 1 else { throw UsageError("\(name) takes no value") }
                values[name] = "true"
            } else if parts.count > 1 {
                values[name] = String(parts[1])
            } else if let value = rest.popFirst() {
                values[name] = value
            } else {
                throw UsageError("\(name) needs a value")
            }
        }
    }

    /// Whether a flag is given.
    func has(_ flag: String) -> Bool { values[flag] != nil }

    /// - Parameter form: the form of a valid value, for the error about another one.
    func optional<Value>(
        _ name: String, _ form: String = "", _ parse: (String) -> Value?
    ) throws(UsageError) -> Value? {
        guard let text = values[name] else { return nil }
        guard let value = parse(text) else {
            throw UsageError("\(name) cannot be '\(text)'" + (form.isEmpty ? "" : ": \(form)"))
        }
        return value
    }

    func required<Value>(
        _ name: String, _ form: String = "", _ parse: (String) -> Value?
    ) throws(UsageError) -> Value {
        guard let value = try optional(name, form, parse) else {
            throw UsageError("\(name) is missing")
        }
        return value
    }
}
