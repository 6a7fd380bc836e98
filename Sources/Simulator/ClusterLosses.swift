import Chat
import Wire

/// What was lost with disks, acknowledged or not: whoever was told of it is told nothing else.
struct ClusterLosses {
    private(set) var keys: Set<DocumentKey> = []
    /// Conversations of which every copy was destroyed.
    private(set) var conversations: Set<String> = []

    /// Notes what one disk alone had of a document.
    ///
    /// - Parameter others: the states of it that the other disks have.
    /// - Returns: whether it had something.
    mutating func note(_ document: Document, besides others: [Document]) -> Bool {
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

    /// Whether something of a message, or all of its conversation, was lost.
    func concern(_ name: ClusterMessage.Name) -> Bool {
        let key = DocumentKey.message(
            MessageID(checked: name.id), in: ConversationID(checked: name.conversation))
        return keys.contains(key) || conversations.contains(name.conversation)
    }
}

extension ClusterWorld {
    /// A disk is about to be emptied.
    func noteLostDocuments(of machine: ClusterMachine, _ others: [ClusterMachine]) {
        let notOwner = others.map(documents)
        for (key, document) in documents(on: machine)
        where losses.note(document, besides: notOwner.compactMap { $0[key] }) {
            noteLost(key)
        }
    }

    /// A machine is to be forgotten, or evicted, and may come back with its disk: what it alone
    /// knows of a device is given up, and there again later.
    func noteGivenUp(_ machine: ClusterMachine, besides others: [ClusterMachine]) {
        let notOwner = others.map(documents)
        for (key, document) in documents(on: machine) {
            var alone = ClusterLosses()
            if alone.note(document, besides: notOwner.compactMap { $0[key] }) { noteLost(key) }
        }
    }

    private func documents(on machine: ClusterMachine) -> [DocumentKey: Document] {
        let stored = machine.executor.run { machine.disk.assumeIsolated { $0.documents } }
        var found: [DocumentKey: Document] = [:]
        do throws(WireError) {
            for (key, bytes) in stored { found[key] = try Document(key, decoding: bytes) }
        } catch {
            fail(.running, "a disk holds what is no document: \(error)")
        }
        return found
    }
}
