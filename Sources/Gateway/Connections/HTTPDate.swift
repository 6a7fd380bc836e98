import LineProtocol

/// A formatter of HTTP dates (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// The formatter caches the text of the current second, since every HTTP response has a `Date`.
package struct HTTPDate {
    private var second: UInt64 = .max
    private var last = ""

    package init() {}

    /// - Parameter milliseconds: the time, in milliseconds since 1970.
    package mutating func text(of milliseconds: UInt64) -> String {
        guard milliseconds / 1_000 != second else { return last }
        second = milliseconds / 1_000
        last = HTTPDate.text(of: milliseconds)
        return last
    }

    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// - Parameter milliseconds: the time, in milliseconds since 1970.
    static func text(of milliseconds: UInt64) -> String {
        let time = Int64(clamping: milliseconds)
        let parts = LineTime.text(time).split { !("0"..."9").contains($0) }
        // The first of January 1970 was a Thursday.
        let day = days[Int(min(time, LineTime.latest) / 86_400_000 % 7)]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(day), \(parts[2]) \(month) \(parts[0]) "
            + "\(parts[3]):\(parts[4]):\(parts[5]) GMT"
    }
}
