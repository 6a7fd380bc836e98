import HTTP

extension [UInt8] {
    /// Parses an HTTP request at the beginning of these bytes.
    ///
    /// - Parameter read: parses a request, and removes the parsed bytes from its argument.
    /// - Returns: the request, or nil while it is incomplete; and the number of unparsed bytes.
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
