import Admin
import CRDT
import Chat
import HTTP
import JSON
import LineProtocol
import Node
import Session
import Wire

/// Uploads and downloads of files over HTTP.
extension AppConnection {
    // MARK: Uploads

    /// Begins an upload when the head of its request has arrived.
    ///
    /// - Returns: false if the upload is refused.
    func beginUpload(_ request: AppRequest) -> Bool {
        guard case .blob(let route, let user) = request.admission else { return false }
        do throws(LineError) {
            var promised: UInt64?
            if case .length(let length) = request.head.body {
                try Upload.check(length)
                try host.checkUpload(of: Int(length), by: user, counted: false)
                promised = length
            }
            let since = try AppRequest.sessionTokens(request.head)
            let query = try AppRequest.members(of: request.head.target.query)
            var file = route.file ?? FileID(checked: host.makeID())
            for member in query {
                guard member.name == "id", case .text(let name) = member.value, route.file == nil
                else { throw LineError(400, "Unknown key; an upload has the key: id") }
                guard isPathName(name) else { throw .notName("id") }
                file = FileID(checked: name)
            }
            guard file.text.utf8.count <= LineLimits.fileNameBytesMax else {
                throw .fileNameTooLong
            }
            try host.beginUpload(on: id, by: user, promised: promised)
            upload = Upload(
                to: route.conversation, as: file, by: user,
                since: since, now: clock.milliseconds)
            openSession(of: user)
            return true
        } catch {
            uploadRefusal = error
            return false
        }
    }

    /// - Returns: false if the upload is refused.
    func continueUpload(_ part: Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let upload else { return false }
        do throws(LineError) {
            try host.checkUpload(of: part.count, by: upload.user, counted: true)
            try upload.append(part)
        } catch {
            uploadRefusal = error
            return false
        }
        uploadRefusal = upload.failure
        guard uploadRefusal == nil else { return false }
        if upload.hasRequests || upload.hasPart { askForTurn() }
        return true
    }

    /// Cuts the received bytes of an upload into parts, as long as permits to store parts are free.
    private func makeParts(of upload: Upload) {
        while upload.hasPart, host.takePartPlace(for: id) { upload.put() }
    }

    func onResponse(_ response: Response, to upload: Upload) {
        if upload.onResponse(response) { host.giveBack(partPlaces: 1) }
    }

    /// Gives back the permits to store parts that the connection's upload still has, and reports
    /// the end of the upload; called at success, at failure and at the loss of the connection.
    func leavePlaces() {
        var ended = upload
        if case .storing(let upload) = phase { ended = upload }
        guard let ended else { return }
        host.giveBack(partPlaces: ended.takePlaces())
        host.endUpload(of: id)
    }

    /// Answers an upload that is refused, and closes the connection.
    func failUpload(_ error: LineError) {
        leavePlaces()
        upload = nil
        uploadRefusal = nil
        request = nil
        var response = AppResponse(error)
        response.closes = true
        respond(response, isHead: false)
    }

    /// Submits the received parts of an upload to the session; called only from `onTurn`, because a
    /// session that is passing on a response must not be called.
    func feedUpload() {
        guard let upload else { return }
        if let failure = upload.failure { return failUpload(failure) }
        if isSessionFull { session?.assumeIsolated { $0.onDrained() } }
        makeParts(of: upload)
        for (request, traits) in upload.takeRequests() { submit(request, traits) }
    }

    // MARK: Requests

    /// Starts a download, or completes an upload whose whole file has arrived.
    func begin(
        _ request: AppRequest, _ route: BlobRoute, by user: UserID
    ) throws(LineError) {
        if let upload {
            self.upload = nil
            upload.end()
            stored = AwaitedAnswer(request)
            phase = .storing(upload)
            return askForTurn()
        }
        guard let file = route.file, request.head.target.query.isEmpty else {
            throw LineError(400, "This request has no query")
        }
        let download = Download(route, file, by: user, request)
        phase = .downloading(download)
        openSession(of: user)
        for token in try AppRequest.sessionTokens(request.head) { submit(.since(token)) }
        submit(download.firstRequest, Download.traitsOfShow)
        submit(.token)
    }

    /// Stores the remaining parts of an uploaded file of which all bytes have arrived; sends the
    /// response once the file is stored, or once an error has ended the upload.
    func finish(_ upload: Upload) {
        if isSessionFull { session?.assumeIsolated { $0.onDrained() } }
        makeParts(of: upload)
        upload.endIfStored()
        for (request, traits) in upload.takeRequests() { submit(request, traits) }
        guard upload.isDone, let stored else { return }
        self.stored = nil
        var response =
            upload.failure.map { AppResponse($0) } ?? AppResponse(.ok, body: [upload.json])
        response.token = upload.failure == nil ? upload.token : nil
        response.closes = stored.closes || isDraining
        respond(response, isHead: false)
    }

    // MARK: Downloads

    func onResponse(_ response: Response, to download: Download) {
        switch response {
        case .failed(let error):
            // Once the response's head states the length, an error can only end the connection.
            guard download.rest == nil else { return abort() }
            var response = AppResponse(error)
            response.closes = download.closes
            respond(response, isHead: download.isHead)
        case .token(let token): sendHead(of: download, token.text)
        case .found(let listing):
            switch listing.findings.base {
            case let view as FileView where download.rest == nil: begin(download, view)
            case let found as FileBytes where download.rest != nil:
                guard let part = download.take(found.bytes, number: download.number) else {
                    return abort()
                }
                download.onResponse()
                send(Array(part))
            default: abort()
            }
        // The session has accepted the client's session token.
        case .done: break
        case .written, .watching, .copies, .level, .report: abort()
        }
    }

    private func begin(_ download: Download, _ view: FileView) {
        guard view.size != nil else {
            return respond(AppResponse(LineError(404, "File not found")), isHead: download.isHead)
        }
        download.begin(view)
    }

    private func sendHead(of download: Download, _ token: String) {
        guard let answer = download.takeAnswer() else { return }
        var response = answer.response
        response.token = token
        sendHead(of: response, answer.length)
    }

    /// Fetches the next parts of the downloaded file while fewer than `queuedBytesMax` bytes wait
    /// to be sent to the client; ends the download after the last part.
    func fetch(_ download: Download) {
        if isSessionFull { session?.assumeIsolated { $0.onDrained() } }
        guard download.isAnswered else { return }
        if download.isDone {
            since = clock.milliseconds
            if download.closes { return close() }
            phase = .reading
            return askForTurn()
        }
        guard output.queuedBytes < AppConnection.queuedBytesMax else { return }
        for request in download.takeRequests() { submit(request, Download.traitsOfGet) }
    }
}
