// The lab's control endpoint: reads counters, sets faults and changes records, all by query parameters over HTTP.

package import DNSWire
import HTTPDNS

package struct ControlPaths: Sendable {
    private let lab: Lab

    package init(_ lab: Lab) {
        self.lab = lab
    }

    package func respond(to request: HTTPRequest) -> HTTPReply {
        switch (request.method, URLQuery.path(of: request.url)) {
        case (.get, "/requests"): ControlPaths.json(lab.withState { $0.counters.json })
        case (.get, "/faults"): faults()
        case (.post, "/fault"): setFault(request.url)
        case (.post, "/record"): setRecord(request.url)
        case (.post, "/reset"): reset()
        default: ControlPaths.refusal(404, "GET /requests, /faults; POST /fault, /record, /reset")
        }
    }

    private func reset() -> HTTPReply {
        lab.reset()
        return ControlPaths.done
    }

    private func faults() -> HTTPReply {
        struct Row: Encodable {
            let provider: String?
            let name: String?
            let fault: String
        }
        let rows = lab.withState { $0.faults.entries }.map {
            Row(provider: $0.scope.provider, name: $0.scope.name?.description, fault: $0.fault.description)
        }
        return ControlPaths.json(JSONBody.encode(rows))
    }

    private func setFault(_ url: String) -> HTTPReply {
        let nameText = URLQuery.value(of: "name", in: url)
        let name = nameText.flatMap { Name($0) }
        guard (nameText == nil) == (name == nil) else { return ControlPaths.refusal(400, "name is no name") }
        let kind = URLQuery.value(of: "kind", in: url) ?? ""
        let fault = Fault(
            kind: kind, value: URLQuery.value(of: "value", in: url),
            retryAfter: URLQuery.value(of: "retry-after", in: url))
        guard fault != nil || kind == "none" else {
            return ControlPaths.refusal(
                400,
                "kind is one of \(Fault.kinds); value is milliseconds for delay, 200 to 599 for status, seconds for "
                    + "clock, a number of requests for hang-long-connection")
        }
        let scope = FaultTable.Scope(provider: URLQuery.value(of: "provider", in: url), name: name)
        let hasRoom = lab.withState { $0.faults.set(fault, for: scope) }
        return hasRoom ? ControlPaths.done : ControlPaths.refusal(507, "too many faults; POST /reset")
    }

    /// Replaces a record set. `data` may hold several addresses, separated by commas; without data the set is removed.
    private func setRecord(_ url: String) -> HTTPReply {
        guard let name = URLQuery.value(of: "name", in: url).flatMap({ Name($0) }) else {
            return ControlPaths.refusal(400, "name is no name")
        }
        guard let type = URLQuery.value(of: "type", in: url).flatMap({ RecordType($0) }) else {
            return ControlPaths.refusal(400, "type is no type")
        }
        guard let ttlSeconds = UInt32(URLQuery.value(of: "ttl", in: url) ?? "60"), ttlSeconds <= 0x7FFF_FFFF else {
            return ControlPaths.refusal(400, "ttl is no number of seconds")
        }
        let text = URLQuery.value(of: "data", in: url) ?? ""
        let texts = type.isAddress ? text.split(separator: ",").map(String.init) : text.isEmpty ? [] : [text]
        var records: [ResourceRecord] = []
        for text in texts {
            guard let data = PresentationForm.bytes(of: text, as: type) else {
                return ControlPaths.refusal(400, "data is not of type \(type)")
            }
            records.append(ResourceRecord(owner: name, type: type, ttlSeconds: ttlSeconds, data: data))
        }
        lab.withState { [records] in $0.zone.replace(name, type, with: records) }
        return ControlPaths.done
    }

    private static let done = json(Array("{}".utf8))

    private static func json(_ body: [UInt8]) -> HTTPReply {
        HTTPReply(headers: HTTPHeaders([.init("Content-Type", "application/json")]), body: body + [0x0A])
    }

    private static func refusal(_ status: Int, _ text: String) -> HTTPReply {
        HTTPReply(status: status, body: Array("\(text)\n".utf8))
    }
}
