import HTTP
import JSON
import LineProtocol
import Node
import Session
import Wire

/// A response that tells of events as they happen (Server-Sent Events, HTML standard, section 9.2).
final class EventStream {
    /// Whether the head of the response was written.
    var hasBegun = false
    var sentAt: UInt64

    init(now: UInt64) { sentAt = now }
}

extension AppConnection {
    /// Has a session watch a user's events.
    func beginEvents(_ line: [UInt8], of user: UserID) {
        phase = .events(EventStream(now: clock.milliseconds))
        // Nothing is answered behind a stream.
        backlog = []
        isSessionFull = false
        session = host.openSession(
            of: user, signIn: nil, replyingTo: SessionReplies(of: self))
        feed(line + [UInt8(ascii: "\n")])
    }

    func onReply(_ line: LineView, to stream: EventStream) {
        if let error = line.error {
            var response = AppResponse(error)
            response.closes = true
            respond(response, isHead: false)
        } else if line.isEvent {
            send(line, of: .event, as: line.plainValue(of: "kind") ?? "", on: stream)
        } else if line.isOK, !stream.hasBegun {
            begin(stream)
            send(line, of: .status, as: "watching", on: stream)
        }
    }

    private func begin(_ stream: EventStream) {
        stream.hasBegun = true
        var response = AppResponse(.ok, body: [])
        response.contentType = "text/event-stream"
        response.isStream = true
        // The length is not known, and the end of the connection ends it.
        response.closes = true
        sendHead(of: response, .upgrade)
    }

    private func send(
        _ line: LineView, of shape: LineShape, as kind: String, on stream: EventStream
    ) {
        var json = JSONWriter(reserving: 512)
        json.object { $0.write(pairsOf: line, of: shape) }
        var writer = ByteWriter(reserving: json.bytes.count + 256)
        if let token = line.plainValue(of: "token") { writer.write(raw: "id: \(token)\n".utf8) }
        writer.write(raw: "event: \(kind)\ndata: ".utf8)
        writer.write(raw: json.bytes)
        writer.write(raw: "\n\n".utf8)
        stream.sentAt = clock.milliseconds
        send(writer.bytes)
    }

    /// Sends a comment where nothing was sent for a while, so that proxies keep the connection.
    func keepAlive(_ stream: EventStream, now: UInt64) {
        guard stream.hasBegun, now >= stream.sentAt + AppLimits.heartbeatMilliseconds else {
            return
        }
        stream.sentAt = now
        send(Array(":\n\n".utf8))
    }
}
