import Chat
import LineProtocol
import Wire

extension ReplyPairs: ViewWriter {
    public mutating func write<Subject>(_ subject: Subject, _ fields: [Field<Subject>]) {
        for field in fields where isExact || !field.isExactOnly {
            switch field.getter {
            case .text(let get): pair(field.key, get(subject))
            case .name(let get): pair(field.key, name: get(subject))
            case .time(let get): pair(field.key, time: get(subject))
            case .moment(let get): pair(field.key, moment: get(subject))
            case .number(let get): pair(field.key, get(subject))
            case .sequence(let get): pair(field.key, sequence: get(subject))
            case .flag(let get): flag(field.key, get(subject))
            case .toggle(let get): pair(field.key, get(subject).map { $0 ? "true" : "false" })
            case .users(let get): list(field.key, get(subject))
            case .names(let get): list(field.key, words: get(subject))
            case .copies(let get):
                if let copies = get(subject) { pair(field.key, copies.on, of: copies.owners) }
            }
        }
    }
}

extension ReplyWriter: RowWriter {
    public mutating func row(_ noun: StaticString, _ body: (inout ReplyPairs) -> Void) {
        line(noun, body)
    }

    public var isTooLong: Bool { bytes.count > LineLimits.replyBytesMax }
}
