// The text replies of all of Tencent's dialects: lines of `[name.:]part[-part][|client]`, where a part is
// `address;address,ttl` or `0` (providers.md 1.4). An empty reply may mean "not my name", so it must never become
// NXDOMAIN or NODATA.

import DNSWire

/// The lines of a body, keyed by name.
struct DNSPodText {
    typealias Text = ArraySlice<UInt8>

    /// The parts of each name. If several lines concern one name, the first counts.
    private var partsOfName: [Name: Text] = [:]
    /// The first line without a name; it answers the only name asked.
    private var namelessParts: Text?
    /// The client's address, from any line.
    private(set) var client: Address?
    private var isEmpty = true
    private let isText: Bool

    /// - Parameter body: the text without padding. Plain replies have no padding, so a NUL byte in one is an error.
    init(_ body: [UInt8]) {
        isText = !body.contains(0)
        for line in body.split(separator: UInt8(ascii: "\n")) { read(line) }
    }

    /// - Parameter isAlone: true if the request had no other name.
    func answer(to question: Question, isAlone: Bool) throws(DialectError) -> Answer {
        guard isText else { throw .garbage("NUL octets in the text") }
        if isAlone, isEmpty { return Answer(negative: .ambiguousEmpty) }
        guard let parts = partsOfName[question.name] ?? (isAlone ? namelessParts : nil) else { throw .wrongQuestion }
        // The form is `A part-AAAA part` if a server sends both families.
        let families = parts.split(separator: UInt8(ascii: "-"), maxSplits: 1, omittingEmptySubsequences: false)
        let part = question.type == .aaaa ? families[families.count - 1] : families[0]
        let pieces = part.split(separator: UInt8(ascii: ","), maxSplits: 1, omittingEmptySubsequences: false)
        let ttl = try DNSPodText.ttlSeconds(pieces.count == 2 ? pieces[1] : [])
        guard !pieces[0].elementsEqual(DNSPodText.nothing.utf8) else {
            return Answer(negative: .ambiguousEmpty, ttlSeconds: ttl)
        }
        let elements = pieces[0].split(separator: UInt8(ascii: ";"), maxSplits: DialectBounds.maxRecords)
        guard elements.count <= DialectBounds.maxRecords else { throw .garbage("more addresses than any name has") }
        return try Answer(to: question, of: elements.compactMap(DNSPodText.address), ttlSeconds: ttl)
    }

    // MARK: reading

    private mutating func read(_ line: Text) {
        guard let line = DNSPodText.trimmed(line) else { return }
        let answers = line.prefix { $0 != UInt8(ascii: "|") }
        client = client ?? DNSPodText.address(line[answers.endIndex...].dropFirst())
        guard !answers.isEmpty else { return }
        isEmpty = false
        let head = answers.prefix { $0 != UInt8(ascii: ":") }
        // Names have neither ";" nor ","; IPv6 addresses have colons too.
        let isNameless = head.count == answers.count || head.contains { DNSPodText.separators.contains($0) }
        if isNameless || DNSPodText.address(answers.prefix { !DNSPodText.separators.contains($0) }) != nil {
            namelessParts = namelessParts ?? answers
        } else if let name = Name(String(decoding: head, as: UTF8.self)), partsOfName[name] == nil {
            partsOfName[name] = answers[head.endIndex...].dropFirst()
        }
    }

    private static let separators = Array(";,".utf8)
    static let nothing = "0"

    private static func address(_ text: Text) -> Address? { Address(String(decoding: text, as: UTF8.self)) }

    /// Removes line ends and spaces around the text; nil if nothing is left.
    static func trimmed(_ line: Text) -> Text? {
        let isText = { (byte: UInt8) in ![0x0A, 0x0D, 0x20].contains(byte) }
        guard let first = line.firstIndex(where: isText), let last = line.lastIndex(where: isText) else { return nil }
        return line[first...last]
    }

    /// Returns the TTL, or the default for an absent or non-positive one, because the server meant the answer to be
    /// used (providers.md 9.5).
    private static func ttlSeconds(_ digits: Text) throws(DialectError) -> UInt32 {
        guard digits.allSatisfy(\.isDigit) else { throw .garbage("TTL is no number") }
        guard digits.contains(where: { $0 != UInt8(ascii: "0") }) else { return DialectBounds.defaultTTLSeconds }
        let number = UInt32(String(decoding: digits, as: UTF8.self))
        return min(number ?? UpstreamReply.maxTTLSeconds, UpstreamReply.maxTTLSeconds)
    }

    // MARK: writing

    /// Returns the name in request form; nil if these services cannot be asked for it.
    static func hostText(of name: Name) -> String? { name.isRoot ? nil : name.hostText }

    /// Returns the part of a reply line; nil if there is no address of the type.
    static func part(of answer: Answer, _ type: RecordType) -> String? {
        let addresses = answer.addresses.filter { $0.recordType == type }.map(\.description)
        return addresses.isEmpty ? nil : "\(addresses.joined(separator: ";")),\(answer.ttlSeconds)"
    }

    /// Returns a reply line with name and client address, A before AAAA.
    static func line(_ named: NamedAnswers, client: Address) -> String {
        let parts = named.families.map { type, answer in answer.flatMap { part(of: $0, type) } ?? nothing }
        return "\(named.name).:\(parts.joined(separator: "-"))|\(client)"
    }

    static func reply(_ text: String) -> HTTPReply {
        HTTPReply(headers: HTTPHeaders([.init("Content-Type", "text/plain")]), body: Array(text.utf8))
    }
}
