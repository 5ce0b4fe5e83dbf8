// Lease files of ISC dhcpd (dhcpd.leases(5)): a log of records, of which the last one for an address counts. The server
// appends to it, so that the last record may be incomplete.

import DNSWire

struct DHCPDLeases {
    fileprivate struct Record {
        var address: Address
        var line: Int
        /// The number of the record in the order of the file.
        var number = 0
        var isActive = true
        var end = End.unknown
        var clientName: [UInt8] = []
        /// The name that the server itself registered in DNS, for clients of DHCPv6.
        var registeredName: [UInt8] = []

        var name: [UInt8] { clientName.isEmpty ? registeredName : clientName }
    }

    fileprivate enum End {
        case unknown
        case never
        case at(secondsSince1970: Int64)
    }

    /// The maximum number of words that are kept: no statement of interest has as many.
    private static let maxWords = 8

    private var tokens: DHCPDTokens
    private var records: [Address: Record] = [:]
    private var file = LeaseFile()
    private var isFull = false
    private var kept = 0

    static func parse(_ text: [UInt8]) -> LeaseFile {
        var parser = DHCPDLeases(tokens: DHCPDTokens(text))
        return parser.parse()
    }

    private init(tokens: DHCPDTokens) {
        self.tokens = tokens
    }

    private mutating func parse() -> LeaseFile {
        while !isFull, let statement = nextStatement() {
            guard statement.opensBlock else { continue }
            if statement.begins("lease") {
                takeLease(statement)
            } else if statement.begins("ia-na") || statement.begins("ia-ta") {
                takeAssociation()
            } else {
                skipBlock()
            }
        }
        for record in records.values.sorted(by: { $0.number < $1.number }) where record.isActive && !record.name.isEmpty
        {
            let end: Int64? = if case .at(let seconds) = record.end { seconds } else { nil }
            guard file.add(record.name, record.address, endsAtSecondsSince1970: end, line: record.line) else { break }
        }
        return file
    }

    // MARK: records

    private mutating func takeLease(_ header: Statement) {
        guard header.words.count == 2, let address = Address(header.words[1].text) else {
            file.ignored.add(line: header.line, .address)
            return skipBlock()
        }
        var record = Record(address: address, line: header.line)
        guard takeBlock({ record.take($0, &$1) }) else { return }
        keep(record)
    }

    /// Takes the addresses of a DHCPv6 client; the name may stand beside them.
    private mutating func takeAssociation() {
        var association = Record(address: .loopback6, line: 0)
        var found: [Record] = []
        let isWhole = takeBlock { statement, parser in
            guard statement.opensBlock, statement.begins("iaaddr"), statement.words.count == 2 else {
                return association.take(statement, &parser)
            }
            guard let address = Address(statement.words[1].text) else {
                parser.file.ignored.add(line: statement.line, .address)
                return parser.skipBlock()
            }
            var record = Record(address: address, line: statement.line)
            if parser.takeBlock({ record.take($0, &$1) }) { found.append(record) }
        }
        guard isWhole else { return }
        for var record in found {
            if record.name.isEmpty {
                (record.clientName, record.registeredName) = (association.clientName, association.registeredName)
            }
            keep(record)
        }
    }

    private mutating func keep(_ record: Record) {
        guard records[record.address] != nil || records.count < LeaseFile.maxLeases else {
            file.ignored.stop(line: record.line, .tooManyLeases)
            isFull = true
            return
        }
        if case .unknown = record.end, record.isActive { return file.ignored.add(line: record.line, .expiry) }
        kept += 1
        records[record.address] = record
        records[record.address]?.number = kept
    }

    // MARK: statements

    fileprivate struct Statement {
        var words: [ArraySlice<UInt8>] = []
        var line = 0
        var opensBlock = false

        func begins(_ word: String) -> Bool { words.first?.elementsEqual(word.utf8) ?? false }
    }

    /// Calls `take` for each statement of a block. It must consume a block that a statement opens.
    ///
    /// - Returns: false if the text ends in the block.
    private mutating func takeBlock(_ take: (Statement, inout DHCPDLeases) -> Void) -> Bool {
        while let token = tokens.peek {
            if case .close = token {
                tokens.skip()
                return true
            }
            guard let statement = nextStatement() else { return false }
            take(statement, &self)
        }
        return false
    }

    /// Consumes the rest of a block that was just opened.
    private mutating func skipBlock() {
        var depth = 1
        while depth > 0, let token = tokens.next() {
            switch token {
            case .open: depth += 1
            case .close: depth -= 1
            case .end, .word: continue
            }
        }
    }

    /// Reads up to ";" or "{". Nil at the end of the text, also within a statement. Skips a "}" without its "{".
    private mutating func nextStatement() -> Statement? {
        var statement = Statement()
        while let token = tokens.peek {
            switch token {
            case .word(let word):
                if statement.words.isEmpty { statement.line = tokens.lineOfPeeked }
                if statement.words.count < DHCPDLeases.maxWords { statement.words.append(word) }
            case .end where statement.words.isEmpty, .close where statement.words.isEmpty: break
            case .end:
                tokens.skip()
                return statement
            case .open:
                tokens.skip()
                statement.opensBlock = true
                return statement
            case .close:
                // The statement has no ";".
                file.ignored.add(line: statement.line, .shape)
                return statement
            }
            tokens.skip()
        }
        return nil
    }
}

extension DHCPDLeases.Record {
    fileprivate mutating func take(_ statement: DHCPDLeases.Statement, _ parser: inout DHCPDLeases) {
        let words = statement.words
        if statement.opensBlock { return parser.skipBlock() }
        if statement.begins("binding"), words.count == 3 {
            isActive = words[2].elementsEqual("active".utf8)
        } else if statement.begins("ends") {
            end = DHCPDLeases.end(words) ?? .unknown
        } else if statement.begins("client-hostname"), words.count == 2 {
            clientName = Array(words[1])
        } else if statement.begins("set"), words.count == 4, words[1].elementsEqual("ddns-fwd-name".utf8) {
            registeredName = Array(words[3])
        }
    }
}

extension DHCPDLeases {
    /// Parses "ends never", "ends epoch SECONDS", or "ends WEEKDAY YYYY/MM/DD HH:MM:SS" in UTC.
    fileprivate static func end(_ words: [ArraySlice<UInt8>]) -> End? {
        if words.count == 2, words[1].elementsEqual("never".utf8) { return .never }
        if words.count == 3, words[1].elementsEqual("epoch".utf8) {
            return Int64(words[2].text).map { .at(secondsSince1970: $0) }
        }
        guard words.count == 4 else { return nil }
        let date = words[2].split(separator: UInt8(ascii: "/")).compactMap { Int64($0.text) }
        let time = words[3].split(separator: UInt8(ascii: ":")).compactMap { Int64($0.text) }
        guard date.count == 3, time.count == 3, (1970...9999).contains(date[0]), (1...12).contains(date[1]),
            (1...31).contains(date[2]), (0...23).contains(time[0]), (0...59).contains(time[1]),
            (0...60).contains(time[2])
        else { return nil }
        let days = daysSince1970(year: date[0], month: date[1], day: date[2])
        return .at(secondsSince1970: days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2])
    }

    /// Returns the days of a date in the Gregorian calendar, of which 400 years have 146,097 days. Years begin in
    /// March, so that the leap day is the last one.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let (era, yearOfEra) = (shifted / 400, shifted % 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let daysBeforeEpoch: Int64 = 719_468
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - daysBeforeEpoch
    }
}
