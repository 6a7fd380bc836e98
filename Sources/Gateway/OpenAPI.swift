/// The description of the API (OpenAPI 3.1), made from the table of resources.
enum OpenAPI {
    static let document: [UInt8] = []
}
