import TestKit
import Testing
import Wire

@testable import Chat

/// Bytes from a socket or a disk, decoded as every type of this target.
struct DecodingTests {
    private typealias Read = @Sendable ([UInt8]) -> [UInt8]?

    private static let readHeader: Read = { bytes in
        var reader = ByteReader(bytes)
        guard let header = try? Message.Header(from: &reader, sentBy: People.dot(1, 1)),
            (try? reader.finish()) != nil
        else { return nil }
        var writer = ByteWriter()
        header.encode(into: &writer)
        return writer.bytes
    }

    private static let readers: [Read] = [
        { try? Pin.decode($0).encoded }, { try? Fields.decode($0).encoded },
        { try? DocumentKey.decode($0).encoded }, readHeader,
        { try? Conversation.Header.decode($0).encoded },
        { try? Document(.message(People.message, in: People.conversation), decoding: $0).encoded },
        { try? Document(.conversation(People.conversation), decoding: $0).encoded },
        { try? Document(ParticipantStateTests.key, decoding: $0).encoded },
        { try? Mark.decode($0).encoded },
        { try? Mutation.decode($0).encoded }, { try? MessageView.decode($0).encoded },
        { try? Document(DocumentTests.unknownKey, decoding: $0).encoded },
    ]

    @Test func `200,000 random byte strings never trap, and what is read is canonical`() throws {
        var random = SplitMix64(seed: 22)
        var accepted = 0
        for number in 0..<200_000 {
            // Small bytes make plausible counts.
            var bytes = random.bytes(random.below(24))
            if random.chance(50) { bytes = bytes.map { $0 % 3 } }
            let index = number % DecodingTests.readers.count
            guard let again = DecodingTests.readers[index](bytes) else { continue }
            try #require(again == bytes, "type \(index)")
            accepted += 1
        }
        #expect(accepted > 300)
    }
}
