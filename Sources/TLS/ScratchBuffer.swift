/// A buffer that all TLS connections of a context share, since only one reads or writes at a time.
///
/// The buffer exists as long as the last of the connections, possibly longer than the context.
final class ScratchBuffer {
    let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int) { bytes = .allocate(byteCount: byteCount, alignment: 16) }

    deinit { bytes.deallocate() }
}
