import Chat
import Wire

/// The documents that were lost with disks, acknowledged or not; watchers who were told of them are
/// not told of the loss.
struct ClusterLosses {
    private(set) var keys: Set<DocumentKey> = []
    /// The conversations of which every replica was destroyed.
    private(set) var conversations: Set<String> = []

    /// Records the part of a document that only one disk had.
    ///
    /// - Parameter others: the document's states on the other disks.
    /// - Returns: whether the disk had anything that the others lack.
    mutating func recordLoss(_ document: Document, besides others: [Document]) -> Bool {
        guard var rest = others.first else {
            keys.insert(document.key)
            if document.key.kind == .conversation { conversations.insert(document.key.partition) }
            return true
        }
        for other in others.dropFirst() { rest.merge(other) }
        var all = rest
        all.merge(document)
        if all != rest { keys.insert(document.key) }
        return all != rest
    }

    /// Whether part of a message, or its whole conversation, was lost.
    func concern(_ name: ClusterMessage.Name) -> Bool {
        let key = DocumentKey.message(
            MessageID(checked: name.id), in: ConversationID(checked: name.conversation))
        return keys.contains(key) || conversations.contains(name.conversation)
    }
}

extension ClusterWorld {
    /// Records the documents on a disk that is about to be emptied.
    func noteLostDocuments(of machine: ClusterMachine, _ others: [ClusterMachine]) {
        let notOwner = others.map { read($0.documentsKept) }
        for (key, document) in read(machine.documents)
        where losses.recordLoss(document, besides: notOwner.compactMap { $0[key] }) {
            noteLost(key)
        }
    }

    /// Records the device states that only one machine has of all members, when it is to be
    /// forgotten, evicted or emptied: they are given up, and may return with its disk or with that
    /// of a machine that is no member now.
    func noteGivenUp(_ machine: ClusterMachine, besides others: [ClusterMachine]) {
        let notOwner = others.map { read($0.documentsKept) }
        for (key, document) in read(machine.documents) {
            var alone = ClusterLosses()
            if alone.recordLoss(document, besides: notOwner.compactMap { $0[key] }) {
                noteLost(key)
            }
        }
    }

    private func read(_ stored: [DocumentKey: [UInt8]]) -> [DocumentKey: Document] {
        var found: [DocumentKey: Document] = [:]
        do throws(WireError) {
            for (key, bytes) in stored { found[key] = try Document(key, decoding: bytes) }
        } catch {
            fail(.running, "a disk holds what is no document: \(error)")
        }
        return found
    }
}
