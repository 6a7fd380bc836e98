import LineProtocol
import Node
import Wire

extension Admin {
    /// Executes an operator's request that changes the node's part in the cluster.
    func operate(_ request: Request) -> Response {
        switch node.assumeIsolated({ perform(request, on: $0) }) {
        case .success:
            return .done
        case .failure(.oneself):
            guard case .forget = request else { return .failed(LineError(.oneself)) }
            return .failed(
                LineError(
                    400, "A node cannot forget itself; LEAVE takes it out of the cluster"))
        case .failure(let failure):
            return .failed(LineError(failure))
        }
    }

    private func perform(
        _ request: Request, on node: isolated Node
    ) -> Result<Void, OperationFailure> {
        switch request {
        case .block(let it): node.block(it.node, CutDirection(it.direction))
        case .unblock(let name): node.unblock(name)
        case .join(let address): node.join(address)
        case .leave: node.leave()
        case .forget(let name): node.forgetMember(name)
        default: preconditionFailure("answered elsewhere")
        }
    }
}

extension CutDirection {
    init(_ direction: BlockDirection) {
        self =
            switch direction {
            case .both: .both
            case .in: .in
            case .out: .out
            }
    }
}
