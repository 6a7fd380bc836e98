/// The clocks of the device.
protocol Clock: AnyObject {
    /// Milliseconds of a clock that never goes back.
    var elapsed: Int64 { get }
    /// The time of the device, in milliseconds since 1970.
    var deviceTime: Int64 { get }
}
