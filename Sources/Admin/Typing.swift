import LineProtocol
import Node
import Replication
import Wire

extension Admin {
    func type(
        _ typing: Request.Typing, for slot: ReplySlot, on connection: inout ConnectionState
    ) -> Answer {
        let begun = node.assumeIsolated {
            $0.type(
                typing.isOn, in: typing.conversation, by: typing.user, on: typing.stream, for: slot)
        }
        switch begun {
        case .success(let handling):
            return answer(
                handling, showing: typing.conversation.text, on: &connection, sizeEstimate: 0)
        case .failure(let failure): return .now(.failed(LineError(failure)))
        }
    }
}
