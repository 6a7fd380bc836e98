import LineClient
import LineProtocol

/// Two changes to one thing, made on two sides of a cut, with the required result.
struct Conflict: Hashable, Sendable {
    /// The required content of a reply at the end, on every node.
    enum Outcome: Hashable, Sendable {
        /// A data line of this noun and id, with these values; nil for a key that must be missing.
        case line(_ noun: String, id: String, [String: String?])
        /// No data line of this noun and id.
        case none(_ noun: String, id: String)
    }

    struct Question: Hashable, Sendable {
        let line: String
        let outcomes: [Outcome]
    }

    let name: String
    /// The requests before the cut.
    var before: [String] = []
    /// The request on one side, acknowledged before the other side gets its own.
    let earlier: String
    /// The request on the other side.
    let later: String
    var questions: [Question]

    /// Returns every kind of conflict, in a conversation with ada, ben and cleo.
    ///
    /// - Parameters:
    ///   - conversation: must exist.
    ///   - made: a conversation that must not exist.
    static func all(in conversation: String, making made: String) -> [Conflict] {
        edits(in: conversation) + pins(in: conversation) + archives(in: conversation)
            + deletions(in: conversation) + [
                twoSendings(in: conversation), twoCreations(of: made),
            ]
    }

    static let users = ["ada", "ben", "cleo"]

    private static func edits(in c: String) -> [Conflict] {
        [
            Conflict(
                name: "edit and edit", before: ["SEND \(c) ada id=edit first"],
                earlier: "EDIT \(c) edit ada the earlier text",
                later: "EDIT \(c) edit ada the later text",
                questions: [
                    message("edit", in: c, ["text": "the later text"]),
                    Question(
                        line: "EDITS \(c) edit ben",
                        outcomes: [.line("EDIT", id: "", ["text": "first"])]),
                ])
        ]
    }

    private static func pins(in c: String) -> [Conflict] {
        func conflict(_ id: String, _ earlier: String, _ later: String, by: String?) -> Conflict {
            let pinned = Outcome.line("MESSAGE", id: id, ["pinnedBy": by])
            let isPinned = by != nil
            return Conflict(
                name: id, before: ["SEND \(c) ada id=\(id) pinned or not"],
                earlier: "\(earlier.split(separator: " ")[0]) \(c) \(id) "
                    + earlier.split(separator: " ")[1],
                later: "\(later.split(separator: " ")[0]) \(c) \(id) "
                    + later.split(separator: " ")[1],
                questions: [
                    Question(line: "HISTORY \(c) ada limit=1000", outcomes: [pinned]),
                    Question(
                        line: "PINNED \(c) ada",
                        outcomes: [isPinned ? pinned : .none("MESSAGE", id: id)]),
                ])
        }
        var pinAndUnpin = conflict("pin-and-unpin", "PIN cleo", "UNPIN ben", by: nil)
        pinAndUnpin.before.append("PIN \(c) pin-and-unpin ben")
        var unpinAndPin = conflict("unpin-and-pin", "UNPIN ben", "PIN cleo", by: "cleo")
        unpinAndPin.before.append("PIN \(c) unpin-and-pin ben")
        return [
            conflict("pin-and-pin", "PIN ben", "PIN cleo", by: "cleo"), pinAndUnpin, unpinAndPin,
        ]
    }

    private static func archives(in c: String) -> [Conflict] {
        func archived(_ user: String) -> Question {
            Question(
                line: "CHATS \(user) show=all",
                outcomes: [.line("CHAT", id: c, ["archived": "true"])])
        }
        return [
            Conflict(
                name: "archive and unarchive", before: ["ARCHIVE \(c) ben"],
                earlier: "ARCHIVE \(c) ben", later: "UNARCHIVE \(c) ben",
                questions: [archived("ben")]),
            Conflict(
                name: "unarchive and archive", before: ["ARCHIVE \(c) cleo"],
                earlier: "UNARCHIVE \(c) cleo", later: "ARCHIVE \(c) cleo",
                questions: [archived("cleo")]),
        ]
    }

    private static func deletions(in c: String) -> [Conflict] {
        func conflict(_ id: String, _ earlier: String, _ later: String) -> Conflict {
            Conflict(
                name: id, before: ["SEND \(c) ada id=\(id) not for long"], earlier: earlier,
                later: later,
                questions: [
                    message(
                        id, in: c,
                        [
                            "text": Expectations.placeholder, "deletedForEveryone": "true",
                            "pinnedBy": nil, "edited": nil,
                        ]),
                    Question(line: "PINNED \(c) ben", outcomes: [.none("MESSAGE", id: id)]),
                    Question(line: "EDITS \(c) \(id) ben", outcomes: [.none("EDIT", id: "")]),
                ])
        }
        func delete(_ id: String) -> String { "DELETE \(c) \(id) ada for=everyone" }
        var restored = conflict(
            "delete-and-restore", delete("delete-and-restore"),
            "RESTORE \(c) delete-and-restore ben")
        restored.before.append("DELETE \(c) delete-and-restore ben")
        return [
            conflict(
                "delete-and-edit", delete("delete-and-edit"),
                "EDIT \(c) delete-and-edit ada back again"),
            conflict(
                "edit-and-delete", "EDIT \(c) edit-and-delete ada in vain",
                delete("edit-and-delete")),
            conflict(
                "delete-and-pin", delete("delete-and-pin"), "PIN \(c) delete-and-pin cleo"),
            conflict(
                "pin-and-delete", "PIN \(c) pin-and-delete cleo", delete("pin-and-delete")),
            restored,
        ]
    }

    private static func twoSendings(in c: String) -> Conflict {
        Conflict(
            name: "two sendings of one id", earlier: "SEND \(c) ada id=twice the earlier one",
            later: "SEND \(c) ben id=twice the later one",
            questions: [message("twice", in: c, ["from": "ada", "text": "the earlier one"])])
    }

    private static func twoCreations(of made: String) -> Conflict {
        Conflict(
            name: "two creations", earlier: "CREATE \(made) eva,fay title=earlier",
            later: "CREATE \(made) gil,hal title=later",
            questions: ["eva", "hal"].map { user in
                Question(
                    line: "CHATS \(user) show=all",
                    outcomes: [
                        .line(
                            "CHAT", id: made,
                            [
                                "participants": "eva,fay,gil,hal", "createdBy": "eva",
                                "title": "earlier",
                            ])
                    ])
            })
    }

    private static func message(
        _ id: String, in conversation: String, _ fields: [String: String?]
    ) -> Question {
        Question(
            line: "HISTORY \(conversation) cleo limit=1000",
            outcomes: [.line("MESSAGE", id: id, fields)])
    }
}

extension Conflict.Outcome {
    /// Describes what is wrong with a reply; nil if nothing is.
    func finding(in reply: LineReply) -> String? {
        guard reply.isOK else { return "is answered \(reply.statusText)" }
        switch self {
        case .none(let noun, let id):
            let line = Self.lines(noun, id, in: reply).first
            return line.map { "shows \(noun) \(id) '\($0["text"] ?? "")', which should be gone" }
        case .line(let noun, let id, let fields):
            guard let line = Self.lines(noun, id, in: reply).first else {
                return "does not show \(noun) \(id)"
            }
            for key in fields.keys.sorted() {
                guard let wanted = fields[key], line[key] != wanted else { continue }
                return "shows \(noun) \(id) with \(key)='\(line[key] ?? "")', "
                    + "where '\(wanted ?? "")' should be"
            }
            return nil
        }
    }

    /// - Parameter id: empty for lines without one.
    private static func lines(_ noun: String, _ id: String, in reply: LineReply) -> [ReplyFields] {
        reply.data(noun).filter { id.isEmpty || $0["id"] == id }
    }
}
