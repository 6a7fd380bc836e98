import HTTP

/// The laws of HTTP requests and WebSocket frames, which hold whatever a client sends.
enum HTTPLaws {
    static func check(requests input: [UInt8]) {
        let whole = requests(in: input, piece: max(1, input.count))
        precondition(whole == requests(in: input, piece: 1), "pieces make the same requests")
        precondition(whole == requests(in: input, piece: 7), "pieces make the same requests")
    }

    static func check(frames input: [UInt8]) {
        let whole = frames(in: input, piece: max(1, input.count))
        precondition(whole == frames(in: input, piece: 1), "pieces make the same messages")
        precondition(whole == frames(in: input, piece: 7), "pieces make the same messages")
    }

    /// What a reader finds, whole bodies in one piece.
    private enum Found: Equatable {
        case head(RequestHead)
        case body([UInt8])
        case end
        case failed(HTTPError)
    }

    private static func requests(in input: [UInt8], piece: Int) -> [Found] {
        var reader = RequestReader()
        var found: [Found] = []
        feed(input, piece) { rest in
            do throws(HTTPError) {
                guard let event = try reader.next(&rest) else { return false }
                switch event {
                case .head(let head): found.append(.head(head))
                case .end: found.append(.end)
                case .body(let bytes):
                    if case .body(let before) = found.last {
                        found[found.count - 1] = .body(before + bytes)
                    } else {
                        found.append(.body(Array(bytes)))
                    }
                }
            } catch {
                found.append(.failed(error))
            }
            return true
        }
        return found
    }

    private static func frames(
        in input: [UInt8], piece: Int
    ) -> [Result<WebSocketReader.Event, WebSocketError>] {
        let messageBytesMax = 1_000
        var reader = WebSocketReader(messageBytesMax: messageBytesMax)
        var found: [Result<WebSocketReader.Event, WebSocketError>] = []
        feed(input, piece) { rest in
            do throws(WebSocketError) {
                guard let event = try reader.next(&rest) else { return false }
                found.append(.success(event))
            } catch {
                found.append(.failure(error))
            }
            return true
        }
        // A message, a control frame and the head of a frame.
        precondition(reader.heldBytes <= messageBytesMax + 125 + 14, "what is held is bounded")
        return found
    }

    /// Calls `body` with pieces of the input, with each until it returns false.
    private static func feed(
        _ input: [UInt8], _ size: Int, _ body: (inout Slice<UnsafeRawBufferPointer>) -> Bool
    ) {
        for start in stride(from: 0, to: input.count, by: size) {
            input[start..<min(start + size, input.count)].withUnsafeBytes { bytes in
                var rest = bytes[...]
                while body(&rest) {}
            }
        }
    }
}
