import Chat
import Wire

/// The verbs of files: a file is uploaded in parts, and sent with a message.
extension Verb {
    static let files: [Verb] = ofUsers + ofKeepers

    private static let ofUsers: [Verb] = [
        Verb(
            "FILE ADD", .writes, ["<conversation>", "<user>"], options: [.fileID, .contentType],
            example: "FILE ADD lunch alice id=f1 type=image/png",
            about: "Begins the upload of a file, which is then put in parts.",
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            let file = try words.fileName(try words.name(.fileID, as: FileID.self))
            let type = FieldText(try words.field(.contentType) ?? "")
            return .write(Mutation(.begin(type: type), of: file, in: conversation, by: user))
        },
        Verb(
            "FILE PUT", .writes, ["<conversation>", "<file>", "<user>", "<part>"], text: "<bytes>",
            example: "FILE PUT lunch f1 alice 0 aGVsbG8",
            about: "Stores a part of a file, by its number from 0: 32 KiB in base64url, the last "
                + "part less."
        ) { words throws(LineError) in
            .write(
                Mutation(
                    .put(try words.partBytes()), on: try words.part(3),
                    of: try words.fileName(words.name(1)), in: try words.name(0),
                    by: try words.name(2)))
        },
        Verb(
            "FILE END", .writes, ["<conversation>", "<file>", "<user>"], options: [.size],
            example: "FILE END lunch f1 alice size=5",
            about: "Ends the upload of a file, whose parts have this many bytes together."
        ) { words throws(LineError) in
            let limit = FilePart.bytesMax * FilePart.countMax
            let size = UInt64(try words.number(.size, in: 0...limit) ?? 0)
            return .write(
                Mutation(
                    .end(size: size), of: try words.fileName(words.name(1)),
                    in: try words.name(0), by: try words.name(2)))
        },
        Verb(
            "FILE SHOW", .reads, ["<conversation>", "<file>", "<user>"],
            example: "FILE SHOW lunch f1 alice",
            about: "Shows the type and the size of a file."
        ) { words throws(LineError) in
            .read(.file(try words.name(1), in: try words.name(0)), of: try words.name(2))
        },
        Verb(
            "FILE GET", .reads, ["<conversation>", "<file>", "<user>", "<part>"], reply: .list,
            example: "FILE GET lunch f1 alice 0",
            about: "Shows a part of a file."
        ) { words throws(LineError) in
            .read(
                .part(try words.part(3), of: try words.name(1), in: try words.name(0)),
                of: try words.name(2))
        },
    ]

    private static let ofKeepers: [Verb] = [
        Verb(
            "FILES", .operates, optional: ["<shard>"], example: "FILES 0",
            about: "Lists some files held here that are closed and not purged, or were not sent "
                + "in time."
        ) { words throws(LineError) in
            .files(words.argumentCount > 0 ? try words.shard(0) : nil)
        },
        Verb(
            "FILE CLOSE", .writes, ["<conversation>", "<file>"], example: "FILE CLOSE lunch f1",
            about: "Closes a file: nobody reads it or sends it any more."
        ) { words throws(LineError) in
            .write(
                Mutation(
                    .close, of: try words.fileName(words.name(1)), in: try words.name(0),
                    by: Mutation.cluster))
        },
        Verb(
            "FILE PURGE", .writes, ["<conversation>", "<file>"], optional: ["<part>"],
            example: "FILE PURGE lunch f1 0",
            about: "Rids all disks of a part of a closed file, or notes that no part is left."
        ) { words throws(LineError) in
            let (conversation, file) = (
                try words.name(0, as: ConversationID.self), try words.fileName(words.name(1))
            )
            guard words.argumentCount > 2 else {
                return .write(
                    Mutation(File.Action.purge, of: file, in: conversation, by: Mutation.cluster))
            }
            return .write(
                Mutation(
                    FilePart.Action.purge, on: try words.part(2), of: file, in: conversation,
                    by: Mutation.cluster))
        },
    ]
}

extension Option {
    static let contentType = Option("type", "…")
    static let fileID = Option("id", "<id>", isRequired: true)
    static let size = Option("size", "<bytes>", isRequired: true)
}

extension ParsedLine {
    /// - Throws: 400 for a name that leaves no place for the number of a part.
    func fileName(_ name: FileID?) throws(LineError) -> FileID {
        guard let name, name.text.utf8.count <= DocumentKey.fileNameBytesMax else {
            throw refused("<file> is 1-\(DocumentKey.fileNameBytesMax) of A-Z a-z 0-9 _ . : @ -")
        }
        return name
    }

    func part(_ index: Int) throws(LineError) -> Int {
        try number(index, atMost: FilePart.countMax - 1)
    }

    /// Returns the bytes that the text is the base64url of.
    func partBytes() throws(LineError) -> [UInt8] {
        guard let bytes = Base64.decode(try word()) else {
            throw LineError(400, "<bytes> is base64url without padding")
        }
        guard bytes.count <= FilePart.bytesMax else {
            throw LineError(413, "A part has at most \(FilePart.bytesMax) bytes")
        }
        return bytes
    }
}
