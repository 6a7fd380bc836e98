import HTTP
import JSON
import LineProtocol

/// The part of the API description (OpenAPI 3.1) about uploads and downloads of files.
extension BlobRoute {
    static let tag = "files"
    private static let all = "/v1/conversations/{conversation}/blobs"
    private static let types = [
        "application/octet-stream", "application/pdf", "image/*", "audio/*", "video/*",
    ]

    /// Writes the OpenAPI paths of uploads and downloads of files.
    static func describe(_ writer: inout JSONWriter) {
        writer.object(all) {
            write(parameters: ["conversation"], &$0)
            $0.object("put") { describeUpload("putFile", isNamed: false, &$0) }
            $0.object("post") { describeUpload("uploadFile", isNamed: false, &$0) }
        }
        writer.object(all + "/{file}") {
            write(parameters: ["conversation", "file"], &$0)
            $0.object("put") { describeUpload("putNamedFile", isNamed: true, &$0) }
            $0.object("get") { describeDownload(&$0) }
        }
    }

    private static func write(parameters: [String], _ writer: inout JSONWriter) {
        writer.list("parameters") { list in
            for name in parameters {
                list.object {
                    $0.pair("name", name)
                    $0.pair("in", "path")
                    $0.pair("required", true)
                    $0.object("schema") { write(schemaOf: name, &$0) }
                }
            }
            list.object { $0.pair("$ref", "#/components/parameters/Token") }
        }
    }

    private static func write(schemaOf name: String, _ writer: inout JSONWriter) {
        guard name == "file" else { return writer.pair("$ref", "#/components/schemas/Name") }
        writer.pair("type", "string")
        writer.pair("pattern", OpenAPI.Pattern.name(bytesMax: LineLimits.fileNameBytesMax))
    }

    private static func describeUpload(
        _ id: String, isNamed: Bool, _ writer: inout JSONWriter
    ) {
        writer.list("tags") { $0.write(tag) }
        writer.pair("operationId", id)
        writer.pair(
            "summary",
            "Uploads a file of at most 25 MiB, which is then sent with a message."
                + (isNamed ? "" : " Without an id it gets one."))
        if !isNamed {
            writer.list("parameters") {
                $0.object {
                    $0.pair("name", "id")
                    $0.pair("in", "query")
                    $0.object("schema") { write(schemaOf: "file", &$0) }
                }
            }
        }
        writer.object("requestBody") { write(bodyOf: ["application/octet-stream"], &$0) }
        writer.object("responses") {
            $0.object("200") {
                $0.pair("description", "Stored on all nodes that hold it, or a majority of them")
                $0.object("content") {
                    $0.object("application/json") { $0.object("schema") { writeAnswer(&$0) } }
                }
                $0.describeToken()
            }
            $0.describeErrors(isWrite: true)
        }
    }

    private static func writeAnswer(_ writer: inout JSONWriter) {
        writer.pair("type", "object")
        writer.object("properties") {
            $0.object("id") { write(schemaOf: "file", &$0) }
            $0.object("type") { $0.pair("type", "string") }
            $0.object("size") { $0.pair("type", "integer") }
        }
        writer.list("required") { for key in ["id", "type", "size"] { $0.write(key) } }
        writer.pair("additionalProperties", false)
    }

    private static func describeDownload(_ writer: inout JSONWriter) {
        writer.list("tags") { $0.write(tag) }
        writer.pair("operationId", "downloadFile")
        writer.pair("summary", "Downloads a file, or a range of its bytes.")
        writer.list("parameters") { list in
            for name in ["Range", "If-Range", "If-None-Match"] {
                list.object {
                    $0.pair("name", name)
                    $0.pair("in", "header")
                    $0.object("schema") { $0.pair("type", "string") }
                }
            }
        }
        writer.object("responses") {
            $0.object("200") { write("The file", &$0) }
            $0.object("206") { write("The range", &$0) }
            $0.object("304") {
                $0.pair("description", "The client has the file")
                $0.describeToken()
            }
            $0.object("416") { $0.pair("description", "The file has no such range") }
            $0.describeErrors(isWrite: false)
        }
    }

    private static func write(_ answer: String, _ writer: inout JSONWriter) {
        writer.pair("description", answer)
        write(bodyOf: types, &writer)
        writer.describeToken()
    }

    private static func write(bodyOf types: [String], _ writer: inout JSONWriter) {
        writer.object("content") {
            for type in types {
                $0.object(type) {
                    $0.object("schema") {
                        $0.pair("type", "string")
                        $0.pair("format", "binary")
                    }
                }
            }
        }
    }
}
