import Dispatch
import Foundation

/// The clocks of the operating system.
final class SystemClock: Clock {
    /// Milliseconds since the client was opened, also those in which the device slept.
    var elapsed: Int64 {
        let parts = ContinuousClock().now.duration(to: start).components
        return -(parts.seconds * 1_000 + parts.attoseconds / 1_000_000_000_000_000)
    }

    var deviceTime: Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

    private let start = ContinuousClock().now
}
