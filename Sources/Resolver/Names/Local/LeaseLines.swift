// Lease files with one lease per line: those of dnsmasq and odhcpd.

import DNSWire

enum LeaseLines {
    // MARK: dnsmasq

    /// 1993-01-01, before the first DHCP server (RFC 1531). A smaller number is not a time but the lease's length, as
    /// dnsmasq writes it for machines without a clock (HAVE_BROKEN_RTC).
    private static let firstExpiry: Int64 = 725_846_400

    /// Parses a file of dnsmasq. The server writes into the file in place, so that a last line without its end is
    /// incomplete.
    static func dnsmasq(_ text: [UInt8]) -> LeaseFile {
        var file = LeaseFile()
        forEachLine(of: text) { number, words in
            // The server's own identifier: leases of DHCPv6 follow.
            if words[0].elementsEqual("duid".utf8) { return true }
            // 0: never. A length says nothing about the end, since a renewal leaves the file as it is: such a lease
            // is in force until the server takes it out. A lease of a temporary address has a "T" in its second word.
            guard let expiry = Int64(words[0].text), expiry >= 0 else {
                file.ignored.add(line: number, .expiry)
                return true
            }
            guard words.count >= 4 else {
                file.ignored.add(line: number, .shape)
                return true
            }
            guard let address = Address(words[2].text) else {
                file.ignored.add(line: number, .address)
                return true
            }
            guard !words[3].elementsEqual("*".utf8) else { return true }
            return file.add(
                words[3], address, endsAtSecondsSince1970: expiry < firstExpiry ? nil : expiry, line: number)
        }
        return file
    }

    // MARK: odhcpd

    /// The words before the addresses: "#", interface, DUID, IAID, name, expiry, assigned, length.
    private static let wordsOfODHCPD = 8

    static func isLease(ofODHCPD words: [ArraySlice<UInt8>]) -> Bool {
        words.count >= wordsOfODHCPD && words[0].elementsEqual("#".utf8) && Int64(words[5].text) != nil
            && UInt8(words[7].text) != nil && UInt64(words[6].text, radix: 16) != nil
    }

    static func odhcpd(_ text: [UInt8]) -> LeaseFile {
        var file = LeaseFile()
        forEachLine(of: text) { number, words in
            guard words[0].first == UInt8(ascii: "#") else {
                // The line has the same names for programs that read hosts files, without the ends of the leases.
                if Address(words[0].text) == nil { file.ignored.add(line: number, .shape) }
                return true
            }
            guard isLease(ofODHCPD: words), let expiry = Int64(words[5].text) else {
                file.ignored.add(line: number, .shape)
                return true
            }
            // 0: over; -1: never. "-": no name; "broken\x20NAME": a name that odhcpd refuses.
            guard expiry != 0, !words[4].elementsEqual("-".utf8), words[4].first != nil else { return true }
            for word in words.dropFirst(wordsOfODHCPD) {
                // A delegated prefix is no host's address.
                guard let address = hostAddress(word) else { continue }
                let isKept = file.add(
                    words[4], address, endsAtSecondsSince1970: expiry < 0 ? nil : expiry, line: number)
                guard isKept else { return false }
            }
            return true
        }
        return file
    }

    /// Returns the address of "ADDRESS/32" and "ADDRESS/128".
    private static func hostAddress(_ word: ArraySlice<UInt8>) -> Address? {
        guard let slash = word.lastIndex(of: UInt8(ascii: "/")), let address = Address(word[..<slash].text),
            Int(word[(slash + 1)...].text) == (address.isIPv6 ? 128 : 32)
        else { return nil }
        return address
    }

    // MARK: lines

    /// - Parameter take: gets the words of each complete line that has some, and returns whether to go on.
    private static func forEachLine(of text: [UInt8], _ take: (Int, [ArraySlice<UInt8>]) -> Bool) {
        var (start, number) = (0, 0)
        while let end = text[start...].firstIndex(of: UInt8(ascii: "\n")) {
            number += 1
            let words = text[start..<end].words
            guard words.isEmpty || take(number, words) else { return }
            start = end + 1
        }
    }
}
