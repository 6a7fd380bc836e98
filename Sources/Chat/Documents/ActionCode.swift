import Wire

/// The number of an action on the wire.
///
/// Actions of conversations, messages, participants, profiles, blocks and items have a kind of
/// their own. Those of any other kind of document share one, and a number follows the names of the
/// document.
public struct ActionCode: Hashable, Sendable {
    /// The byte before the names of the document.
    let kind: UInt8
    /// The byte behind the names of the document, where several actions share the kind.
    let number: UInt8?

    init(_ kind: UInt8, _ number: UInt8? = nil) {
        self.kind = kind
        self.number = number
    }
}

extension ActionCode: ExpressibleByIntegerLiteral {
    public init(integerLiteral kind: UInt8) { self.init(kind) }
}

/// All actions, by the first byte of their encoding.
struct ActionTable: Sendable {
    /// The actions that share a kind, which all change documents of one kind.
    struct Entry: Sendable {
        let document: DocumentKey.Kind
        let isNumbered: Bool
        var types: [(code: ActionCode, type: any DocumentAction.Type)]
    }

    static let standard = ActionTable([
        Conversation.actions, Message.actions, ParticipantState.actions, Profile.actions,
        Item.actions, Device.actions, Credentials.actions, Signing.actions, File.actions,
        FilePart.actions, Blocks.actions,
    ])

    /// The entry of each kind.
    private var entries = [Entry?](repeating: nil, count: 256)

    private init(_ actions: [[any DocumentAction.Type]]) {
        for type in actions.joined() {
            for code in type.codes { add(type, with: code) }
        }
    }

    private mutating func add<Action: DocumentAction>(_ type: Action.Type, with code: ActionCode) {
        let document = Action.Content.kind
        var entry =
            entries[Int(code.kind)]
            ?? Entry(document: document, isNumbered: code.number != nil, types: [])
        precondition(entry.document == document, "a kind of actions belongs to a kind of document")
        precondition(entry.types.allSatisfy { $0.code != code }, "no two actions share a code")
        entry.types.append((code, type))
        entries[Int(code.kind)] = entry
    }

    subscript(kind: UInt8) -> Entry? { entries[Int(kind)] }
}

extension ActionTable.Entry {
    /// Reads an action from behind the names of its document.
    func readAction(
        kind: UInt8, from reader: inout ByteReader
    ) throws(WireError) -> any DocumentAction {
        let code = ActionCode(kind, isNumbered ? try reader.readByte() : nil)
        guard let type = types.first(where: { $0.code == code })?.type else { throw .unknown }
        return try type.init(code: code, from: &reader)
    }
}
