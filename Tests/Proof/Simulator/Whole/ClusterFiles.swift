import Chat
import LineProtocol
import Wire

/// What clients uploaded under one id, in one conversation.
struct ClusterFile {
    /// The contents, each in its parts, of the uploads that a user requested.
    typealias Contents = [[[UInt8]]]

    let name: ClusterMessage.Name
    /// By the users who uploaded them.
    var contents: [String: Contents] = [:]
    /// The messages that were to be sent with the file.
    var messages: [ClusterMessage.Name] = []
}

/// Files: uploaded, sent and deleted in some runs, several under one id.
extension ClusterWorld {
    /// The percentage of a client's moves that concern a file, in those runs.
    private static let filesPercent = 12

    /// Draws the requests that upload and send a file, read one, or delete a message with one; nil
    /// in most cases.
    func fileRequests(_ client: ClusterClient) -> [ClusterRequest]? {
        guard plan.sendsFiles, fileRandom.chance(percent: ClusterWorld.filesPercent) else {
            return nil
        }
        let place = ClusterMessage.Name(
            id: "f\(fileRandom.below(3) + Int(now / 1_000_000))",
            conversation: fileRandom.pick(conversations))
        switch fileRandom.below(100) {
        case ..<20:
            guard let known = files.keys.sorted().last else { break }
            return [partLine(0, of: known, by: client.user)]
        case ..<35:
            guard let sent = filesSent(by: client).last else { break }
            return [retraction(of: sent, by: client)]
        case ..<55:
            // With both of two messages only on two sides of a cut.
            guard let known = lastUpload(of: client) else { break }
            coverage.count("one file, two messages")
            askElsewhere([send(known, by: client)], by: client)
            return deletingSome([send(known, by: client)], by: client)
        case ..<75:
            // The same message with two files, as a client that got no answer may send it.
            let requests = uploadLines(of: place, by: client)
            guard case .send(let message)? = requests.last?.kind else { break }
            let other = ClusterMessage.Name(id: place.id + "b", conversation: place.conversation)
            coverage.count("one message, two files")
            askElsewhere(uploadLines(of: other, by: client, with: message), by: client)
            return deletingSome(requests, by: client)
        default: break
        }
        return uploadLines(of: place, by: client)
    }

    /// Adds, in half of the cases, the deletion of the message that the last request sends.
    private func deletingSome(
        _ requests: [ClusterRequest], by client: ClusterClient
    ) -> [ClusterRequest] {
        guard case .send(let name)? = requests.last?.kind, fileRandom.chance(percent: 50) else {
            return requests
        }
        return requests + [retraction(of: name, by: client)]
    }

    private func retraction(
        of name: ClusterMessage.Name, by client: ClusterClient
    ) -> ClusterRequest {
        expectations.noteRetraction(of: name, by: client.user)
        return ClusterRequest(
            .retract(name), "DELETE \(name.conversation) \(name.id) \(client.user) for=everyone")
    }

    /// Makes requests of a client at another node, over a connection that ends with them.
    private func askElsewhere(_ requests: [ClusterRequest], by client: ClusterClient) {
        let index = fileRandom.below(machines.count)
        guard let visit = openVisit(to: index, as: client.user) else { return }
        ask(requests, on: visit)
        endLines(of: visit)
    }

    /// The last messages that a client sent with a file.
    private func filesSent(by client: ClusterClient) -> ArraySlice<ClusterMessage.Name> {
        expectations.names.suffix(60).filter { name in
            guard let message = expectations.messages[name.id] else { return false }
            return message.sender == client.user && message.file != nil
        }.suffix(fileRandom.between(1...4) > 2 ? 1 : 4).prefix(1)
    }

    private func lastUpload(of client: ClusterClient) -> ClusterMessage.Name? {
        files.values.filter { $0.contents[client.user] != nil }.map(\.name).max {
            ($0.id.count, $0) < ($1.id.count, $1)
        }
    }

    /// The beginning, the parts, the end, and the message; some uploads break off in between.
    ///
    /// - Parameter message: the message to send it with; nil for one of its own.
    private func uploadLines(
        of name: ClusterMessage.Name, by client: ClusterClient,
        with message: ClusterMessage.Name? = nil
    ) -> [ClusterRequest] {
        let user = client.user
        let place = "\(name.conversation) \(name.id) \(user)"
        let parts = content()
        files[name, default: ClusterFile(name: name)].contents[user, default: []].append(parts)
        let names = parts.map { PartID(ofPart: $0) }
        let size = parts.reduce(0) { $0 + $1.count }
        let list = names.isEmpty ? "" : " parts=" + names.map(\.text).joined(separator: ",")
        var lines = ["FILE ADD \(name.conversation) \(user) id=\(name.id) type=image/png"]
        lines += zip(names, parts).map { "FILE PUT \(place) \($0) \(Base64.encode($1))" }
        lines.append("FILE END \(place) size=\(size)\(list)")
        if fileRandom.chance(percent: 15) {
            lines = Array(lines.prefix(1 + fileRandom.below(lines.count)))
            coverage.count("upload broken off")
        }
        return lines.map { ClusterRequest(.upload, $0) } + [send(name, by: client, with: message)]
    }

    /// The request that sends a file.
    ///
    /// - Parameter known: a message that is sent with another file; nil for one of its own.
    private func send(
        _ name: ClusterMessage.Name, by client: ClusterClient,
        with known: ClusterMessage.Name? = nil
    ) -> ClusterRequest {
        if let known {
            files[name]?.messages.append(known)
            return expectations.send(known, with: name.id)
        }
        client.messages += 1
        let message = ClusterMessage.Name(
            id: "m\(client.index).\(client.messages)", conversation: name.conversation)
        files[name]?.messages.append(message)
        return expectations.send(
            expectations.add(message, from: client.user, text: "file \(message.id)", with: name.id))
    }

    private func content() -> [[UInt8]] {
        let bytes = (0..<8).map { _ in UInt8(fileRandom.below(256)) }
        switch fileRandom.below(10) {
        case 0: return []
        case 1:
            return [[UInt8](repeating: bytes[0], count: LineLimits.filePartBytes), bytes]
        default: return [bytes]
        }
    }

    private func partLine(
        _ number: Int, of name: ClusterMessage.Name, by user: String, tag: String? = nil
    ) -> ClusterRequest {
        ClusterRequest(
            .part(name, number: number),
            "FILE GET \(name.conversation) \(name.id) \(user) \(number)"
                + (tag.map { " tag=\($0)" } ?? ""))
    }

    /// Checks that a part has the bytes of an upload that was requested.
    func judgePart(_ answer: ClusterAnswer, of name: ClusterMessage.Name, number: Int) {
        guard let bytes = ClusterWorld.bytes(answer) else {
            return fail(.sound, "\(name.id) has a part without bytes")
        }
        let known = files[name]?.contents.values.flatMap(\.self) ?? []
        if !known.contains(where: { $0.indices.contains(number) && $0[number] == bytes }) {
            fail(.sound, "part \(number) of \(name.id) has bytes that nobody put")
        }
    }

    private static func bytes(_ answer: ClusterAnswer) -> [UInt8]? {
        answer.lines("PART").first?["bytes"].flatMap(Base64.decode)
    }
}

// MARK: The quiet phase

/// The judgement of files by what clients asked and what they were answered, and by the bytes on
/// the disks.
extension ClusterWorld {
    /// The time within which closed and unsent files leave the disks in the quiet phase, in
    /// microseconds.
    private static let purgeMicroseconds: UInt64 = 30_000_000

    /// Waits until the nodes have purged what no message names any more.
    func awaitPurges() {
        guard plan.sendsFiles else { return }
        _ = run(until: now + ClusterPlan.unsentMilliseconds * 2_000)
        let isDone = run(until: now + ClusterWorld.purgeMicroseconds) { [self] in
            now % 250_000 < 5_000 && members.allSatisfy { !hasPartsToPurge($0) }
        }
        guard !isDone else { return }
        let left = members.flatMap { member in
            filesToPurge(of: member).map { "\($0.id) of \($0.conversation) on \(member.name)" }
        }
        fail(.deleted, "bytes of files of which all messages are deleted: \(left)")
    }

    private func hasPartsToPurge(_ machine: ClusterMachine) -> Bool {
        !filesToPurge(of: machine).isEmpty
    }

    /// The files with bytes on a disk that nobody may read.
    private func filesToPurge(of machine: ClusterMachine) -> Set<ClusterMessage.Name> {
        var names: Set<ClusterMessage.Name> = []
        for (key, bytes) in machine.documents {
            guard let (id, _) = key.partOfFile, let part = Self.part(key, bytes), !part.isEmpty
            else { continue }
            let name = ClusterMessage.Name(id: id.text, conversation: key.partition)
            if files[name].map(isToPurge) ?? true { names.insert(name) }
        }
        return names
    }

    /// Whether the bytes of a file have to leave the disks: it is deleted, or was not sent in time.
    ///
    /// The time is that of the wall clock. An upload that was begun by a clock that was ahead stays
    /// until its time comes.
    private func isToPurge(_ file: ClusterFile) -> Bool {
        let messages = file.messages.compactMap { expectations.messages[$0.id] }
        let isSent = file.contents.count == 1 && messages.contains(where: \.isSentWithOneFile)
        return isDeleted(file) && (isSent || !plan.hasWrongClock)
    }

    private static func part(_ key: DocumentKey, _ bytes: [UInt8]) -> [UInt8]? {
        do throws(WireError) {
            return try Document(key, decoding: bytes).part?.bytes
        } catch {
            return nil
        }
    }

    /// Whether every message that was to be sent with the file is known to be deleted.
    private func isDeleted(_ file: ClusterFile) -> Bool {
        file.messages.compactMap { expectations.messages[$0.id] }.allSatisfy {
            $0.isAcknowledged(.retracted)
        }
    }

    /// Checks that each file is one upload of a user, the same on all nodes, or nowhere.
    ///
    /// A file whose messages are all deleted for everyone is nowhere. A file that a message names
    /// which nobody asked to delete is somewhere, and is what a sender of such a message uploaded,
    /// unless a disk was lost, or a member given up, with a part that no other had.
    func checkFiles() {
        for file in files.values.sorted(by: { $0.name < $1.name }) where finding == nil {
            let found = members.map { content(of: file, at: $0.index) }
            guard finding == nil, let first = found.first else { return }
            guard found.allSatisfy({ $0?.parts == first?.parts && $0?.owner == first?.owner })
            else {
                return fail(.equal, "\(file.name.id) differs between the nodes")
            }
            judge(first, as: file)
            coverage.count(first == nil ? "no file in the quiet" : "file in the quiet")
        }
    }

    private func judge(_ found: (owner: String, parts: [[UInt8]])?, as file: ClusterFile) {
        let id = file.name.id
        if let found, !(file.contents[found.owner]?.contains(found.parts) ?? false) {
            fail(.sound, "\(id) is none of the uploads of \(found.owner)")
        }
        if isToPurge(file), found != nil {
            fail(.deleted, "\(id) is there, though all its messages are deleted")
        }
        guard disksLostAt.isEmpty, !hasMoved else { return }
        let living = file.messages.compactMap { expectations.messages[$0.id] }.filter {
            $0.isSentWithOneFile && !$0.isRetractionAsked
        }
        guard !living.isEmpty else { return }
        coverage.count("file of a living message")
        guard let found else { return fail(.kept, "\(id) was sent, and is nowhere") }
        let mayBeSent = file.messages.compactMap { expectations.messages[$0.id] }.filter {
            $0.mayExist && !$0.isAcknowledged(.retracted)
        }
        if !mayBeSent.contains(where: { $0.sender == found.owner }) {
            fail(.kept, "\(id) is what \(found.owner) uploaded, who has not sent it")
        }
    }

    /// Returns the owner and the parts of a file as a node answers them; nil where it finds no
    /// file, or one that is not whole.
    private func content(
        of file: ClusterFile, at index: Int
    ) -> (owner: String, parts: [[UInt8]])? {
        let (name, user) = (file.name, ClusterClient.user(0))
        let shown = needed(
            [ClusterRequest(.file, "FILE SHOW \(name.conversation) \(name.id) \(user)")],
            of: index)
        guard let line = shown.first?.lines("FILE").first, let owner = line["from"],
            let size = line["size"].flatMap({ Int($0) })
        else { return nil }
        let count = (size + LineLimits.filePartBytes - 1) / LineLimits.filePartBytes
        guard count > 0 else { return (owner, []) }
        let answers = needed(
            (0..<count).map { partLine($0, of: name, by: user, tag: line["tag"]) }, of: index)
        let parts = answers.compactMap(ClusterWorld.bytes)
        return parts.count == count ? (owner, parts) : nil
    }
}
