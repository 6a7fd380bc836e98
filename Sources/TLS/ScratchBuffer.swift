/// A buffer that all connections of a context share, since only one reads or writes at a time.
///
/// It lives as long as the last of them, which may be longer than the context.
final class ScratchBuffer {
    let bytes: UnsafeMutableRawBufferPointer

    init(byteCount: Int) { bytes = .allocate(byteCount: byteCount, alignment: 16) }

    deinit { bytes.deallocate() }
}
