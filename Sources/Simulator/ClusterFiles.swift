import LineProtocol
import Wire

/// What clients uploaded under one id, in one conversation.
struct ClusterFile {
    let name: ClusterMessage.Name
    /// The contents, each in its parts, of the uploads that were ever requested.
    var contents: [[[UInt8]]] = []
    /// The messages that were to be sent with the file.
    var messages: [ClusterMessage.Name] = []
}

/// Files: uploaded, sent and deleted in some runs, several under one id.
extension ClusterWorld {
    /// The percentage of a client's moves that concern a file, in those runs.
    private static let filesPercent = 12

    /// Draws the requests that upload and send a file, or read one; nil in most cases.
    func fileRequests(_ client: ClusterClient) -> [ClusterRequest]? {
        guard plan.sendsFiles, fileRandom.chance(percent: ClusterWorld.filesPercent) else {
            return nil
        }
        let place = ClusterMessage.Name(
            id: "f\(fileRandom.below(3) + Int(now / 1_000_000))",
            conversation: fileRandom.pick(conversations))
        if fileRandom.chance(percent: 25), let known = files.keys.sorted().last {
            return [partLine(0, of: known, by: client.user)]
        }
        return uploadLines(of: place, by: client)
    }

    /// The beginning, the parts, the end, and the message; some uploads break off in between.
    private func uploadLines(
        of name: ClusterMessage.Name, by client: ClusterClient
    ) -> [ClusterRequest] {
        let user = client.user
        let place = "\(name.conversation) \(name.id) \(user)"
        let parts = content()
        var file = files[name] ?? ClusterFile(name: name)
        file.contents.append(parts)
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
        client.messages += 1
        let message = ClusterMessage.Name(
            id: "m\(client.index).\(client.messages)", conversation: name.conversation)
        let send = book.send(
            book.add(message, from: user, text: "file \(message.id)", with: name.id))
        file.messages.append(message)
        files[name] = file
        return lines.map { ClusterRequest(.upload, $0) } + [send]
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
        _ number: Int, of name: ClusterMessage.Name, by user: String
    ) -> ClusterRequest {
        ClusterRequest(
            .part(name, number: number),
            "FILE GET \(name.conversation) \(name.id) \(user) \(number)")
    }

    /// Checks that a part has the bytes of an upload that was requested.
    func judgePart(_ answer: ClusterAnswer, of name: ClusterMessage.Name, number: Int) {
        guard let bytes = ClusterWorld.bytes(answer) else {
            return fail(.sound, "\(name.id) has a part without bytes")
        }
        let known = files[name]?.contents ?? []
        if !known.contains(where: { $0.indices.contains(number) && $0[number] == bytes }) {
            fail(.sound, "part \(number) of \(name.id) has bytes that nobody put")
        }
    }

    private static func bytes(_ answer: ClusterAnswer) -> [UInt8]? {
        answer.lines("PART").first?["bytes"].flatMap(Base64.decode)
    }

    // MARK: The quiet phase

    /// Checks that each file is one of its uploads, the same on all nodes, or nowhere.
    ///
    /// A file whose message is deleted for everyone is nowhere. A file that is sent is somewhere,
    /// unless a disk was lost, or a member given up, with a part that no other had.
    func checkFiles() {
        for file in files.values.sorted(by: { $0.name < $1.name }) where finding == nil {
            let found = members.map { content(of: file, at: $0.index) }
            guard finding == nil, let first = found.first else { return }
            guard found.allSatisfy({ $0 == first }) else {
                return fail(.equal, "\(file.name.id) differs between the nodes: \(found)")
            }
            if let first, !file.contents.contains(first) {
                fail(.sound, "\(file.name.id) is none of its uploads")
            }
            let messages = file.messages.compactMap { book.messages[$0.id] }
            let isDeleted = messages.contains { $0.isAcknowledged(.retracted) }
            if isDeleted, first != nil {
                fail(.deleted, "\(file.name.id) is there, though its message is deleted")
            }
            let mayBeAway =
                messages.contains(where: \.isRetractionAsked)
                || !disksLostAt.isEmpty || hasMoved
            if messages.contains(where: { $0.isAcknowledged(.sent) }), !mayBeAway, first == nil {
                fail(.kept, "\(file.name.id) was sent, and is nowhere")
            }
            coverage.count(first == nil ? "no file in the quiet" : "file in the quiet")
        }
    }

    /// Returns the parts of a file as a node answers them; nil where it finds no file, or one that
    /// is not whole.
    private func content(of file: ClusterFile, at index: Int) -> [[UInt8]]? {
        let (name, user) = (file.name, ClusterClient.user(0))
        let shown = needed(
            [ClusterRequest(.file, "FILE SHOW \(name.conversation) \(name.id) \(user)")],
            of: index)
        guard let size = shown.first?.lines("FILE").first?["size"].flatMap({ Int($0) }) else {
            return nil
        }
        let count = (size + LineLimits.filePartBytes - 1) / LineLimits.filePartBytes
        guard count > 0 else { return [] }
        let answers = needed((0..<count).map { partLine($0, of: name, by: user) }, of: index)
        let parts = answers.compactMap(ClusterWorld.bytes)
        return parts.count == count ? parts : nil
    }
}
