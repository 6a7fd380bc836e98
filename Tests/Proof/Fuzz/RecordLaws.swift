import CRDT
import Chat
import Membership
import Node
import Replication
import Wire

/// The laws of documents and headers, which hold whatever a disk or another node contains.
enum RecordLaws {
    /// The first byte selects the kind of document; the next two are the length of the first of its
    /// two states.
    static func check(_ input: [UInt8]) {
        checkSettings(input)
        var reader = ByteReader(input)
        guard let kind = decoded({ try reader.readByte() }),
            let length: UInt16 = decoded({ try reader.readFixed() })
        else { return }
        let rest = Array(reader.readRest())
        let key = DocumentKey(
            checked: DocumentKey.Kind(number: kind % 6), partition: "c",
            id: [1, 4, 5].contains(kind % 6) ? "" : "m")
        let cut = min(Int(length), rest.count)
        let first = document(key, Array(rest[..<cut]))
        let second = document(key, Array(rest[cut...]))
        guard var merged = first, let second else { return }
        merged.merge(second)
        check(merged)
        let once = merged.encoded
        if let first { merged.merge(first) }
        merged.merge(second)
        precondition(merged.encoded == once, "what was merged changes nothing")
    }

    private static func document(_ key: DocumentKey, _ bytes: [UInt8]) -> Document? {
        guard let document = decoded({ try Document(key, decoding: bytes) }) else { return nil }
        check(document)
        return document
    }

    private static func check(_ document: Document) {
        let bytes = document.encoded
        guard let again = decoded({ try Document(document.key, decoding: bytes) }) else {
            preconditionFailure("what was written can be read")
        }
        precondition(again.encoded == bytes, "one state has one byte string")
        var merged = document
        merged.merge(document)
        precondition(merged.encoded == bytes, "a merge is idempotent")
        let record = Record(of: document, bytes: bytes, previous: nil)
        precondition(record.changedBy == document.changedBy, "a record tells who changed it")
        look(at: document)
    }

    private static func look(at document: Document) {
        _ = document.greatestTime
        _ = document.indexKeys
        var participants = ObservedRemoveSet<UserID>()
        if let conversation = document.conversation { participants = conversation.participants }
        guard let message = document.message else { return }
        let id = MessageID(checked: "m")
        _ = message.view(as: id, for: UserID(checked: "alice"), among: participants)
        _ = message.edits(among: participants)
    }

    private static func checkSettings(_ input: [UInt8]) {
        checkCoding(ReplicaHeader.self, input)
        checkCoding(MemberTable.self, input)
        checkCoding(ClusterSettings.self, input)
        checkCoding(DocumentKey.self, input)
        checkCoding(Mutation.self, input)
        checkToken(input)
    }

    /// Checks a client's token, with the checksum that any client can compute.
    private static func checkToken(_ input: [UInt8]) {
        var writer = ByteWriter()
        writer.write(raw: input)
        writer.write(fixed: UInt32(truncatingIfNeeded: checksum(input)))
        guard let token = decoded({ try Token.decode(writer.bytes) }) else { return }
        precondition(token.encoded == writer.bytes, "one token has one text")
        for number in 0..<4 as Range<UInt16> {
            _ = token.verdict(on: Vector(), of: ShardID(number))
            let minimum = token.minimum(of: ShardID(number), knowing: Vector())
            precondition(minimum.isEmpty, "who knows nothing takes nothing for seen")
        }
    }

    private static func checkCoding<Value: WireValue & Equatable>(
        _: Value.Type, _ input: [UInt8]
    ) {
        guard let value = decoded({ try Value.decode(input) }) else { return }
        precondition(decoded { try Value.decode(value.encoded) } == value, "what is kept is read")
    }
}
