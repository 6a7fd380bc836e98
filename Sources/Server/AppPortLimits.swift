import Chat
import Gateway
import LineProtocol
import Node
import Wire

/// The limits of what users and addresses may send.
extension AppPort {
    nonisolated func admits(_ user: UserID) -> Bool {
        assumeIsolated(with: user) { port, user in
            guard port.userRates.isLimited else { return true }
            return port.userRates.admits(user.text, milliseconds: port.clock.milliseconds)
        }
    }

    nonisolated func admits(from address: String) -> Bool {
        assumeIsolated(with: address) { port, address in
            guard port.addressRates.isLimited else { return true }
            return port.addressRates.admits(address, milliseconds: port.clock.milliseconds)
        }
    }

    nonisolated func checkUpload(
        of bytes: Int, by user: UserID, counted isCounted: Bool
    ) throws(LineError) {
        let delay = assumeIsolated {
            $0.uploads.delay(
                of: UInt64(bytes), for: user.text, counted: isCounted,
                milliseconds: clock.milliseconds)
        }
        guard delay > 0 else { return }
        throw LineError(
            429, "You have uploaded as much as one may in a day; go on later",
            retryAfter: Int(delay / 1_000 + 1))
    }

    nonisolated func beginUpload(
        on connection: UInt64, by user: UserID, promised: UInt64?
    ) throws(LineError) {
        let isAdmitted = assumeIsolated {
            $0.arrivingUploads.begin(on: connection, by: user, promised: promised)
        }
        guard !isAdmitted else { return }
        throw LineError(
            429,
            "Your uploads that are under way have \(File.unsentBytesMax >> 20) MiB together at "
                + "most: begin another when one of them has ended", retryAfter: 1)
    }

    static let dayMilliseconds: UInt64 = 86_400_000
}
