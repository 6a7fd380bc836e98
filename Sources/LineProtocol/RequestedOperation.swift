import CRDT
import Chat
import Crypto
import Wire

/// The identity and the time that a client has given to a write, so that the write has the same
/// effect however often and however late nodes execute it.
///
/// The text form is `<device>.<number>.<time>`: a name of the client's device, which no other
/// device of the user has; the number of the operation among those of the device, 1…2⁶², which
/// ascends; and an exact time. A repetition of the write has the same text.
public struct RequestedOperation: Sendable {
    /// The regular expression that the text matches.
    public static let pattern =
        #"^[A-Za-z0-9_.:@-]{1,64}\.[1-9][0-9]{0,18}\."#
        + #"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$"#

    let device: String
    let number: UInt64
    let time: HybridTimestamp

    /// - Throws: 400 for any other text.
    public init(_ text: String) throws(LineError) {
        let bytes = Array(text.utf8)
        // The time has a point, too, and a device's name may have several.
        let named = bytes.dropLast(LineTime.exactBytes)
        let names = named.dropLast()
        guard let time = LineTime.parseExact(bytes.suffix(LineTime.exactBytes)),
            named.last == UInt8(ascii: "."), let point = names.lastIndex(of: UInt8(ascii: ".")),
            let number = decimal(names[(point + 1)...]).map(UInt64.init),
            (1...Stamp.counterMax).contains(number), isName(names[..<point])
        else { throw .operationBad }
        device = String(decoding: names[..<point], as: UTF8.self)
        self.number = number
        self.time = time
    }

    /// Returns the stamp under which the operation of a user is executed.
    ///
    /// The process id is a cryptographic hash, so that nobody finds a device whose operations count
    /// as those of another user's device.
    public func stamp(of user: UserID) -> Stamp {
        let hash = Digest.sha256(Array("\(user.text) \(device)".utf8))
        let high = hash[0..<4].reduce(0) { $0 << 8 | UInt32($1) }
        let low = hash[4..<12].reduce(0) { $0 << 8 | UInt64($1) }
        return Stamp(
            time: time, process: ProcessID(ofDeviceHashedTo: high, low), counter: number)
    }
}

extension Request {
    /// The same request as one that the node makes itself: with an identity and a time of its own.
    public var anew: Request {
        guard case .write(let mutation, let isMinted, let times) = self else { return self }
        return .write(mutation.requested(as: nil), isMinted: isMinted, times: times)
    }

    /// Returns the write as the client's operation.
    ///
    /// - Throws: 400 for a request that writes nothing, and for one without the id of what it adds:
    ///   each repetition would add another.
    func requested(as operation: RequestedOperation) throws(LineError) -> Request {
        guard case .write(let mutation, let isMinted, let times) = self else {
            throw LineError(400, "This request writes nothing, and takes no operation")
        }
        guard !isMinted else {
            throw LineError(400, "With an operation, give the id of what is added")
        }
        return .write(
            mutation.requested(as: operation.stamp(of: mutation.user)), times: times)
    }
}

extension LineError {
    public static let operationBad = LineError(
        400,
        "An operation is <device>.<number>.<time>, such as phone.1.2026-11-21T06:00:00.000000001Z")
}
