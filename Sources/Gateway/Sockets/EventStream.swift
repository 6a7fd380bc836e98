import Admin
import HTTP
import JSON
import LineProtocol
import Node
import Session
import Wire

/// An HTTP response that streams events as they happen (Server-Sent Events, HTML standard, section
/// 9.2).
final class EventStream {
    /// Whether the head of the HTTP response was written.
    var hasBegun = false
    var sentAt: UInt64
    /// The resource that forms the response about the beginning of the stream.
    let resource: Resource

    init(of resource: Resource, now: UInt64) {
        self.resource = resource
        sentAt = now
    }
}

extension AppConnection {
    /// Starts an event stream, and lets a session watch the user's events, which the stream sends.
    func beginEvents(_ request: Request, _ resource: Resource, of user: UserID) {
        phase = .events(EventStream(of: resource, now: clock.milliseconds))
        // No requests are answered on the connection after an event stream.
        backlog = []
        openSession(of: user)
        submit(request, resource.traits)
    }

    func onResponse(_ response: Response, to stream: EventStream) {
        do throws(LineError) {
            let pieces = try stream.resource.pieces(of: response, newID: nil)
            begin(stream)
            send(Array(pieces.joined()), as: "watching", response.tokenText, on: stream)
        } catch {
            var answer = AppResponse(error)
            answer.closes = true
            respond(answer, isHead: false)
        }
    }

    /// Sends a user's events over an event stream or a WebSocket.
    func onEvents(_ events: [ToldEvent]) {
        switch phase {
        case .events(let stream):
            for event in events {
                send(event.json, as: event.rendered.kind, event.token, on: stream)
            }
        case .socket(let socket):
            for event in events { socket.write(event) }
            sendFrames(of: socket)
        case .reading, .answering, .responding, .storing, .downloading, .awaiting, .closing: break
        }
        noteHeld()
    }

    private func begin(_ stream: EventStream) {
        stream.hasBegun = true
        var response = AppResponse(.ok, body: [])
        response.contentType = "text/event-stream"
        response.isStream = true
        // The length is not known, so the end of the connection marks the end of the body.
        response.closes = true
        sendHead(of: response, .upgrade)
    }

    private func send(
        _ json: [UInt8], as kind: String, _ token: String?, on stream: EventStream
    ) {
        var writer = ByteWriter(reserving: json.count + 256)
        if let token { writer.write(raw: "id: \(token)\n".utf8) }
        writer.write(raw: "event: \(kind)\ndata: ".utf8)
        writer.write(raw: json)
        writer.write(raw: "\n\n".utf8)
        stream.sentAt = clock.milliseconds
        send(writer.bytes)
    }

    /// Sends an empty comment on an idle event stream, so that proxies do not close the connection.
    func keepAlive(_ stream: EventStream, now: UInt64) {
        guard stream.hasBegun, now >= stream.sentAt + AppLimits.heartbeatMilliseconds else {
            return
        }
        stream.sentAt = now
        send(Array(":\n\n".utf8))
    }
}

extension ToldEvent {
    /// The event as a JSON object.
    var json: [UInt8] {
        var json: [UInt8] = []
        json.reserveCapacity(rendered.bytes.count + 96)
        json += rendered.bytes
        appendEnd(to: &json)
        return json
    }

    /// Appends an event's session token and the closing brace of the event's JSON object.
    func appendEnd(to json: inout [UInt8]) {
        if let token {
            // A session token is base64url, which needs no escapes in JSON.
            json += #","token":""#.utf8
            json += token.utf8
            json.append(UInt8(ascii: "\""))
        }
        json.append(UInt8(ascii: "}"))
    }
}
