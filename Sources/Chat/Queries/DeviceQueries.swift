import CRDT
import Wire

extension QueryTable {
    static let ofDevices: [any Query.Type] = [
        DeviceQuery.self, DevicesQuery.self, SignInQuery.self, HoldersQuery.self,
    ]
}

/// A query for the document of one device.
public struct DeviceQuery: Query {
    public typealias Answer = Device
    public static let codes: [UInt8] = [20]

    public let device: DeviceID
    public let owner: UserID

    public init(_ device: DeviceID, of owner: UserID) {
        self.device = device
        self.owner = owner
    }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        device = try reader.readName()
        owner = try reader.readName()
    }

    public func encode(into writer: inout ByteWriter) {
        writer.write(device)
        writer.write(owner)
    }

    public var partition: String? { owner.text }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> Device {
        guard let device = try source.document(.device(device, of: owner))?.device,
            device.isRegistered
        else { throw .refused(.deviceNotFound) }
        return device
    }
}

/// A query for a user's devices, ascending by id.
public struct DevicesQuery: OwnerQuery {
    public typealias Answer = [DeviceView]
    public static let codes: [UInt8] = [22]

    public let owner: UserID

    public init(of owner: UserID) { self.owner = owner }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [DeviceView] {
        var devices: [DeviceView] = []
        let time = source.wallMilliseconds
        for key in try source.keys(of: .device, carrying: Term.registered, partition: owner.text) {
            guard let device = try source.document(key)?.device, device.isRegistered
            else { continue }
            devices.append(device.view(as: DeviceID(checked: key.id), at: time))
        }
        return devices
    }
}

/// A query that finds whether the sign-in that registered a user's device is still valid.
public struct SignInQuery: Query {
    public typealias Answer = SignInStanding
    public static let codes: [UInt8] = [35]
    public static let isForOperators = true

    public let signIn: DeviceSignIn
    public let owner: UserID

    public init(_ signIn: DeviceSignIn, of owner: UserID) {
        self.signIn = signIn
        self.owner = owner
    }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        signIn = try DeviceSignIn(from: &reader)
        owner = try reader.readName()
    }

    public func encode(into writer: inout ByteWriter) {
        signIn.encode(into: &writer)
        writer.write(owner)
    }

    public var partition: String? { signIn.address.text }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> SignInStanding {
        let credentials = try source.document(.credentials(signIn.address))?.credentials
        return credentials?.standing(of: signIn, of: owner) ?? .unknown
    }
}

/// A query for the devices that are registered with a given push token.
public struct HoldersQuery: Query {
    public typealias Answer = [TokenHolder]
    public static let codes: [UInt8] = [36]
    public static let isForOperators = true

    public let token: FieldText

    public init(ofToken token: FieldText) { self.token = token }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        token = try FieldText(from: &reader)
    }

    public func encode(into writer: inout ByteWriter) { token.encode(into: &writer) }

    public var partition: String? { nil }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [TokenHolder] {
        var holders: [TokenHolder] = []
        for key in try source.keys(of: .device, carrying: Term.token(token.text), partition: nil) {
            guard let user = UserID(key.partition), let device = try source.document(key)?.device,
                let holder = device.holder(
                    of: token.text, as: DeviceID(checked: key.id), of: user)
            else { continue }
            holders.append(holder)
        }
        return holders
    }
}
