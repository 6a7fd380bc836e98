import HTTP

extension [UInt8] {
    /// Reads a request from the beginning of these bytes.
    ///
    /// - Parameter read: removes what it has read.
    /// - Returns: what was read, and the number of bytes that are left.
    func reading<Request>(
        _ read: (inout Slice<UnsafeRawBufferPointer>) throws(HTTPError) -> Request?
    ) -> (result: Result<Request?, HTTPError>, left: Int) {
        withUnsafeBytes { bytes in
            var slice = bytes[...]
            do throws(HTTPError) {
                let request = try read(&slice)
                return (.success(request), slice.count)
            } catch {
                return (.failure(error), slice.count)
            }
        }
    }
}
