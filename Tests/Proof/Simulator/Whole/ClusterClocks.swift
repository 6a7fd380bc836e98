import LineProtocol

/// The checks that a clock that was years off has no effect once it is corrected.
extension ClusterWorld {
    /// The limit of the difference between a timestamp and the time of its acceptance, in
    /// milliseconds: the difference of two machines' clocks, and the offset that one of them
    /// believes.
    private static let apartMilliseconds: Int64 = 1_000

    /// Checks that a message accepted in the quiet phase bears the time of its acceptance.
    func checkTime(_ text: String?, at index: Int) {
        guard let text, let time = LineTime.parse(text) else {
            return fail(.times, "n\(index + 1) says no time: \(text ?? "")")
        }
        let now = Int64(ClusterMachine.wallStartMilliseconds + now / 1_000)
        guard abs(time - now) > ClusterWorld.apartMilliseconds else { return }
        fail(
            .times,
            "n\(index + 1) accepts a message \((time - now) / 1_000) s from now, with a clock that "
                + "is right")
    }
}
