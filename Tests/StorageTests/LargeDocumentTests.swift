import CRDT
import Chat
import Replication
import Storage
import StorePort
import Testing
import Wire

/// Documents that are larger than any node accepts: once stored, they are never thrown away.
@Suite struct LargeDocumentTests {
    /// Returns a message with so many edits of the greatest length.
    private func large(_ chats: inout Chats, _ sent: Record, edits: Int) -> Record {
        var document = chats.documents[sent.key]
        for number in 1...edits {
            let text = String(repeating: "x", count: ChatLimits.textBytesMax - 10) + "\(number)"
            let mutation = Mutation(
                EditMessage(text: text), of: Chats.message(1), in: Chats.conversation(1),
                by: Chats.user)
            let stamp = Stamp(
                time: HybridTimestamp(milliseconds: UInt64(number)), process: Chats.replica(7),
                counter: UInt64(number))
            let dot = Dot(replica: Chats.replica(7), seq: UInt64(number))
            document = mutation.applied(to: document, by: Authorship(dot: dot, stamp: stamp))
        }
        return document.map { chats.put($0) } ?? sent
    }

    @Test(arguments: WriteLogLimits.kinds)
    func `a document of more than four megabytes is stored, read, sent and counted`(
        writeLog: WriteLogLimits
    ) throws {
        let folder = try TemporaryFolder()
        var chats = Chats()
        let sent = chats.send(1, in: 1)
        let database = try TestDatabase(folder: folder.path, writeLog: writeLog)
        try database.store(chats.batch([sent]))
        let record = large(&chats, sent, edits: 300)
        #expect(record.bytes.count > 4 << 20)
        try database.store(chats.batch([record]))
        database.close()
        let again = try TestDatabase(folder: folder.path, writeLog: writeLog)
        defer { again.close() }
        let document = try again.reader.document(record.key, in: chats.shard)
        #expect(document == chats.documents[record.key])
        let found = try again.reader.changes(
            in: chats.shard, lackedBy: Vector(), of: chats.vector, after: nil, bytesMax: 1 << 16)
        #expect(found.encodedDocuments.map(\.bytes) == [record.bytes])
        let sum = try again.reader.remainder(of: chats.shard, without: [])
        #expect(sum.header.documents == 1 && sum.bad.isEmpty)
    }
}
