import Chat
import Crypto
import Wire

/// The verbs of files: users upload a file in parts, and then send it with a message.
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
            return .write(Mutation(BeginUpload(type: type), of: file, in: conversation, by: user))
        },
        Verb(
            "FILE PUT", .writes, ["<conversation>", "<file>", "<user>", "<part>"], text: "<bytes>",
            example: "FILE PUT lunch f1 alice LPJNul-wow4m6Dsqxbning aGVsbG8",
            about: "Stores a part of a file: 32 KiB in base64url, the last part less. It is named "
                + "by the first 16 bytes of its SHA-256, in base64url."
        ) { words throws(LineError) in
            let bytes = try words.partBytes()
            return .write(
                Mutation(
                    PutFilePart(bytes), on: try words.part(3, of: bytes),
                    of: try words.fileName(words.name(1)), in: try words.name(0),
                    by: try words.name(2)))
        },
        Verb(
            "FILE END", .writes, ["<conversation>", "<file>", "<user>"], options: [.size, .parts],
            example: "FILE END lunch f1 alice size=5 parts=LPJNul-wow4m6Dsqxbning",
            about: "Ends the upload of a file: these parts are its content, in this order, and "
                + "have this many bytes together."
        ) { words throws(LineError) in
            let size = try words.number(.size, in: 0...Int(File.bytesMax)) ?? 0
            return .write(
                Mutation(
                    EndUpload(size: UInt64(size), parts: try words.parts(ofBytes: size)),
                    of: try words.fileName(words.name(1)), in: try words.name(0),
                    by: try words.name(2)))
        },
        Verb(
            "FILE SHOW", .reads, ["<conversation>", "<file>", "<user>"],
            example: "FILE SHOW lunch f1 alice",
            about: "Shows the type and the size of a file."
        ) { words throws(LineError) in
            .read(FileQuery(try words.name(1), in: try words.name(0)), of: try words.name(2))
        },
        Verb(
            "FILE GET", .reads, ["<conversation>", "<file>", "<user>", "<number>"],
            options: [.tag], reply: .list,
            example: "FILE GET lunch f1 alice 0",
            about: "Shows a part of a file, by its number from 0; with a tag, of the content that "
                + "has it."
        ) { words throws(LineError) in
            .read(
                FilePartQuery(
                    try words.number(3, atMost: FilePart.countMax - 1), of: try words.name(1),
                    in: try words.name(0), tag: try words.tag()),
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
                    CloseFile(), of: try words.fileName(words.name(1)), in: try words.name(0),
                    by: Mutation.cluster))
        },
        Verb(
            "FILE PURGE", .writes, ["<conversation>", "<file>"], optional: ["<part>"],
            example: "FILE PURGE lunch f1 LPJNul-wow4m6Dsqxbning",
            about: "Rids all disks of a part of a closed file, or notes that no part is left."
        ) { words throws(LineError) in
            let (conversation, file) = (
                try words.name(0, as: ConversationID.self), try words.fileName(words.name(1))
            )
            guard words.argumentCount > 2 else {
                return .write(
                    Mutation(PurgeFile(), of: file, in: conversation, by: Mutation.cluster))
            }
            return .write(
                Mutation(
                    PurgeFilePart(), on: try words.part(2), of: file, in: conversation,
                    by: Mutation.cluster))
        },
    ]
}

extension Option {
    static let contentType = Option("type", "…")
    static let fileID = Option("id", "<id>", isRequired: true)
    static let parts = Option("parts", "<part>[,<part>…]")
    static let tag = Option("tag", "<tag>")
    static let size = Option("size", "<bytes>", isRequired: true)
}

extension ParsedLine {
    /// Returns the file and the preview that a sent message names; nil for a message without a
    /// file.
    func attachment() throws(LineError) -> Attachment? {
        let preview = try name(.preview, as: FileID.self)
        guard let file = try name(.blob, as: FileID.self) else {
            guard preview == nil else { throw refusedOption("preview= needs blob=") }
            return nil
        }
        return Attachment(file, preview: preview)
    }

    /// - Throws: 400 for a name so long that no name of a part could be appended to it.
    func fileName(_ name: FileID?) throws(LineError) -> FileID {
        guard let name, name.text.utf8.count <= LineLimits.fileNameBytesMax else {
            throw refused("<file> is 1-\(LineLimits.fileNameBytesMax) of A-Z a-z 0-9 _ . : @ -")
        }
        return name
    }

    /// Returns the tag of a file's content, as `FILE SHOW` prints tags; nil for a line without a
    /// tag.
    func tag() throws(LineError) -> String? {
        guard let tag = try value(.tag) else { return nil }
        guard tag.utf8.count <= FileView.tagBytesMax else { throw refusedOption("tag=: too long") }
        return tag
    }

    func part(_ index: Int) throws(LineError) -> PartID {
        let part: PartID = try name(index)
        guard FilePart.isName(part) else { throw refused(ParsedLine.partRule) }
        return part
    }

    /// - Throws: 400 if the name is not the hash of the bytes, so that a part damaged on its way is
    ///   never stored.
    func part(_ index: Int, of bytes: [UInt8]) throws(LineError) -> PartID {
        let (part, expected) = (try part(index), PartID(ofPart: bytes))
        guard part == expected else {
            throw LineError(400, "The part with these bytes is named \(expected)")
        }
        return part
    }

    /// Returns the names of the parts of a file that has `size` bytes.
    func parts(ofBytes size: Int) throws(LineError) -> [PartID] {
        let count = (size + FilePart.bytesMax - 1) / FilePart.bytesMax
        let names = try value(.parts)?.split(separator: ",", omittingEmptySubsequences: false)
        let parts = names?.compactMap { PartID(String($0)) } ?? []
        guard parts.count == names?.count ?? 0, parts.allSatisfy(FilePart.isName) else {
            throw refusedOption("parts=: each " + ParsedLine.partRule)
        }
        guard parts.count == count else {
            throw refusedOption("A file of \(size) bytes has \(count) parts")
        }
        return parts
    }

    private static let partRule =
        "<part> is the first 16 bytes of the SHA-256 of its bytes, in base64url"

    /// Returns the bytes of a part, which the line contains in base64url.
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

extension PartID {
    /// Creates the name of a part from the SHA-256 of the part's bytes.
    public init(ofPart bytes: [UInt8]) {
        self.init(checked: Base64.encode(Array(Digest.sha256(bytes).prefix(16))))
    }
}
