// Reads a list of names for rules (`match-file`) in pieces, so that a long file takes no memory. Each line has its own
// format: plain names, dnsmasq options, hosts(5) or domain lists of v2fly.

package import DNSWire
import InternationalNames

package struct NameListParser {
    /// Maximum number of names, some 50 MB in memory. The largest public block lists have two million names.
    package static let maxNames = 4_000_000
    /// Maximum size of a file: the names of a full list with dnsmasq's options.
    package static let maxFileBytes = 256 << 20
    /// Maximum size of a line. A line of dnsmasq has at most 1,024 bytes; longer ones suggest a binary file.
    private static let maxLineBytes = 64 << 10

    private var names = NameList.Builder()
    private var faults: FileFaults
    /// The text that is not parsed yet: less than a line between two calls of `take`.
    private var text: [UInt8] = []
    private var line = 0
    /// The wire form of the name being parsed, in lower case.
    private var wire: [UInt8] = []
    /// The last address of a hosts line. Block lists repeat one, so that few words are parsed as addresses.
    private var address: [UInt8] = []

    /// - Parameter file: the name of the file in messages.
    package init(file: String) {
        faults = FileFaults(file: file)
    }

    /// Takes the next bytes of the file.
    package mutating func take(_ piece: [UInt8]) {
        guard !faults.areTooMany else { return }
        names.fileDigest.add(piece)
        text += piece
        var start = 0
        while let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) {
            takeLine(start..<end)
            guard !faults.areTooMany else { return }
            start = end + 1
        }
        guard names.count <= NameListParser.maxNames else {
            return giveUp("found more than \(NameListParser.maxNames) names; allowed: up to that")
        }
        text.removeSubrange(..<start)
        if text.count > NameListParser.maxLineBytes {
            line += 1
            giveUp("found a line of more than \(NameListParser.maxLineBytes) bytes; allowed: up to that")
        }
    }

    private mutating func giveUp(_ reason: String) {
        faults.add(line: line, column: 1, reason)
        faults.giveUp()
    }

    /// Returns the list after the last bytes, or up to ten errors.
    package consuming func finish() throws(SettingsError) -> NameList {
        if !text.isEmpty, !faults.areTooMany { takeLine(0..<text.count) }
        try faults.throwIfAny()
        return NameList(names)
    }

    // MARK: lines

    private mutating func takeLine(_ range: Range<Int>) {
        line += 1
        var rest = range
        if line == 1 { rest = text[rest].withoutByteOrderMark.indices }
        guard let first = nextWord(&rest), text[first.lowerBound] != UInt8(ascii: "#") else { return }
        if let equals = equalsSign(in: first, before: rest) {
            takeOption(first.lowerBound..<min(equals, first.upperBound), equals + 1..<range.upperBound)
            return
        }
        if let second = nextWord(&rest), text[second.lowerBound] != UInt8(ascii: "#") {
            if isAddress(first) {
                takeHosts(second, rest)
            } else if isAttribute(second) {
                takeEntry(first)
            } else {
                complain(first.lowerBound..<second.upperBound)
            }
            return
        }
        takeEntry(first)
    }

    /// Takes the names of a hosts line, each alone. A comment may follow a name at once.
    private mutating func takeHosts(_ second: Range<Int>, _ rest: Range<Int>) {
        var (word, rest): (Range<Int>?, Range<Int>) = (second, rest)
        while let name = word {
            let end = text[name].firstIndex(of: UInt8(ascii: "#")) ?? name.upperBound
            if end > name.lowerBound { add(name.lowerBound..<end, .exact) }
            guard end == name.upperBound else { return }
            word = nextWord(&rest)
        }
    }

    /// Takes a plain name or an entry of v2fly's lists: "KIND:NAME", with attributes that are ignored (":@ATTRIBUTE").
    private mutating func takeEntry(_ word: Range<Int>) {
        let end = text[word].firstIndex(of: UInt8(ascii: "#")) ?? word.upperBound
        var name = word.lowerBound..<end
        guard let colon = text[name].firstIndex(of: UInt8(ascii: ":")) else {
            if text[name.lowerBound] == UInt8(ascii: "=") {
                add(name.dropFirst(), .exact)
            } else {
                addPattern(name, or: .tree, refusesAddress: true)
            }
            return
        }
        let kind = String(decoding: text[name.lowerBound..<colon], as: UTF8.self)
        name = colon + 1..<name.upperBound
        if let attributes = text[name].firstIndex(of: UInt8(ascii: ":")) { name = name.lowerBound..<attributes }
        switch kind {
        case "domain": add(name, .tree)
        case "full": add(name, .exact)
        case "keyword", "regexp", "include":
            faults.add(
                line: line, column: column(of: word),
                "found \"\(kind):\"; allowed: \(NameListParser.allowed); leave the line out, or write the names that "
                    + "it stands for")
        default: complain(word)
        }
    }

    /// Takes an option of dnsmasq with names: "server=/NAME/NAME/...". The text after the names is ignored.
    private mutating func takeOption(_ key: Range<Int>, _ rest: Range<Int>) {
        var rest = rest
        let option = String(decoding: text[key], as: UTF8.self)
        guard NameListParser.options.contains(option) else {
            faults.add(
                line: line, column: column(of: key),
                "found \(quoted(option + "=")); allowed: \(NameListParser.allowed)")
            return
        }
        guard let word = nextWord(&rest), text[word.lowerBound] == UInt8(ascii: "/"),
            let last = text[word].lastIndex(of: UInt8(ascii: "/")), last > word.lowerBound
        else {
            faults.add(
                line: line, column: column(of: key), "found \"\(option)=\" without names; write \(option)=/NAME/")
            return
        }
        guard option != "server" || !text[last + 1..<word.upperBound].elementsEqual("#".utf8) else {
            // dnsmasq asks its usual servers for these names, against a shorter name of the list.
            return faults.add(
                line: line, column: column(of: key),
                "found \"server=\" with \"#\", which exempts names; leave the line out, and write a rule for them")
        }
        var start = word.lowerBound + 1
        while start <= last, let end = text[start...last].firstIndex(of: UInt8(ascii: "/")) {
            addPattern(start..<end, or: .tree)
            start = end + 1
        }
    }

    /// The options of dnsmasq(8) that begin with names and apply to the names below them.
    private static let options: Set<String> = ["server", "local", "address", "ipset", "nftset"]

    // MARK: names

    /// Adds a name as dnsmasq reads it: a leading dot is ignored, "*.NAME" is only for the names below, "#" is every
    /// name.
    ///
    /// - Parameter refusesAddress: an IPv4 address is a fault, because a file of addresses is a mistake.
    private mutating func addPattern(_ word: Range<Int>, or scope: NameList.Scope, refusesAddress: Bool = false) {
        var name = word
        if text[name].elementsEqual("#".utf8) || text[name].elementsEqual("*".utf8) {
            names.add(Name.root.digest, .tree, line: line)
            return
        }
        var scope = scope
        if text[name].starts(with: "*.".utf8) {
            name.removeFirst()
            scope = .below
        }
        while let first = name.first, text[first] == UInt8(ascii: ".") { name.removeFirst() }
        guard !refusesAddress || !isVersion4(name) else { return complain(word) }
        add(name, scope, shown: word)
    }

    private mutating func add(_ word: Range<Int>, _ scope: NameList.Scope, shown: Range<Int>? = nil) {
        if let digest = digest(word) {
            names.add(digest, scope, line: line)
        } else {
            complain(shown ?? word)
        }
    }

    /// Returns the digest of a name in presentation form; nil if the word is no name. Letters outside ASCII become
    /// A-labels.
    private mutating func digest(_ word: Range<Int>) -> UInt64? {
        wire.removeAll(keepingCapacity: true)
        wire.append(0)
        var label = 0
        for index in word {
            let byte = text[index]
            if byte == UInt8(ascii: ".") {
                guard close(label) else { return nil }
                label = wire.count
                wire.append(0)
            } else if NameListParser.isNameByte(byte) {
                wire.append(byte.lowercased)
            } else {
                guard byte >= 0x80 else { return nil }
                let text = String(decoding: text[word], as: UTF8.self)
                return Settings.hostName(text).flatMap { Name($0) }?.digest
            }
        }
        // A final dot has begun the root label.
        if label == wire.count - 1 { return label > 0 ? Name.digest(ofLowercased: wire) : nil }
        guard close(label) else { return nil }
        wire.append(0)
        return wire.count <= Name.maxWireBytes ? Name.digest(ofLowercased: wire) : nil
    }

    private mutating func close(_ label: Int) -> Bool {
        let count = wire.count - label - 1
        guard (1...Name.maxLabelBytes).contains(count) else { return false }
        wire[label] = UInt8(count)
        return true
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isDigit || (0x61...0x7A).contains(byte.lowercased) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "_")
    }

    // MARK: words

    private func nextWord(_ rest: inout Range<Int>) -> Range<Int>? {
        var start = rest.lowerBound
        while start < rest.upperBound, NameListParser.isSpace(text[start]) { start += 1 }
        var end = start
        while end < rest.upperBound, !NameListParser.isSpace(text[end]) { end += 1 }
        rest = end..<rest.upperBound
        return start < end ? start..<end : nil
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    /// Returns the place of "=" after an option, with or without spaces before it.
    private func equalsSign(in word: Range<Int>, before rest: Range<Int>) -> Int? {
        var end = word.lowerBound
        while end < word.upperBound, (0x61...0x7A).contains(text[end].lowercased) || text[end] == UInt8(ascii: "-") {
            end += 1
        }
        guard end > word.lowerBound else { return nil }
        if end < word.upperBound { return text[end] == UInt8(ascii: "=") ? end : nil }
        var rest = rest
        guard let next = nextWord(&rest), text[next.lowerBound] == UInt8(ascii: "=") else { return nil }
        return next.lowerBound
    }

    private func isAttribute(_ word: Range<Int>) -> Bool {
        text[word.lowerBound] == UInt8(ascii: "@") || text[word.lowerBound] == UInt8(ascii: "&")
    }

    /// Whether a word is an IP address, with or without the interface of a link-local address.
    private mutating func isAddress(_ word: Range<Int>) -> Bool {
        guard address.isEmpty || !text[word].elementsEqual(address) else { return true }
        guard text[word].contains(UInt8(ascii: ":")) || isVersion4(word) else { return false }
        let plain = text[word].prefix { $0 != UInt8(ascii: "%") }
        guard Address(String(decoding: plain, as: UTF8.self)) != nil else { return false }
        address = Array(text[word])
        return true
    }

    private func isVersion4(_ word: Range<Int>) -> Bool {
        text[word].allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
            && Address(String(decoding: text[word], as: UTF8.self)) != nil
    }

    // MARK: faults

    private static let allowed =
        "a name for it and all names below it, \"=NAME\" for that name alone, a line of hosts(5), "
        + "\"full:NAME\" or \"domain:NAME\", or dnsmasq's \"server=/NAME/\", \"local=/NAME/\" or \"address=/NAME/\""

    private mutating func complain(_ word: Range<Int>) {
        let text = String(decoding: text[word], as: UTF8.self)
        let remedy = InternationalName.remedy(text).map { "; \($0)" } ?? ""
        faults.add(
            line: line, column: column(of: word),
            "found \(quoted(text)); allowed: \(NameListParser.allowed)\(remedy)")
    }

    /// Returns the column of a word, which counts characters.
    private func column(of word: Range<Int>) -> Int {
        let start = text[..<word.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return String(decoding: text[start..<word.lowerBound], as: UTF8.self).count + 1
    }
}
