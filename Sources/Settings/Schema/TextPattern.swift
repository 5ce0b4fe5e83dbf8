// Regular expressions (ECMA-262) for texts of the settings. None refuses a text that its format accepts; what a regular
// expression cannot say in a few lines, it leaves to the format.

enum TextPattern {
    static var v4: String { "\(octet)(\\.\(octet)){3}" }
    /// Groups of hexadecimal digits; where "::" may stand is left out.
    static var v6: String { "(\(group)(:\(group)){2,8}|\(group)(:\(group)){1,6}:\(v4))" }
    static var address: String { "(\(v4)|\(v6))" }

    /// "ADDR:PORT" or "[ADDR]:PORT".
    static func endpoint(_ ports: ClosedRange<Int> = 1...65_535) -> String { "\(bracketed)\(port(ports))" }

    /// "ADDR", "[ADDR]" or an endpoint.
    static var server: String { "(\(v6)|\(bracketed)(\(port(1...65_535)))?)" }

    /// - Parameter isLengthOptional: an address alone is a block of one.
    static func prefix(isLengthOptional: Bool) -> String {
        let times = isLengthOptional ? "?" : ""
        return "(\(v4)(/\(number(0...32)))\(times)|\(v6)(/\(number(0...128)))\(times))"
    }

    /// A domain name, whose last label has something beside digits. It may have letters beyond ASCII.
    static var hostName: String { "((\(letter)+\\.)*\(letter)*\(otherThanDigit)\(letter)*\\.?)" }

    static var url: String {
        "\(caseless("http"))[Ss]?://\(urlHost)(\(port(1...65_535)))?(/[!$-;=A-Z\\[\\]_a-z~]*)?"
    }
    static var urlQuery: String { "(\\?[!$-;=?-Z\\[\\]_a-z~]*)?" }
    static var urlHost: String { "(\(v4)|\\[\(v6)\\]|\(hostName))" }
    static var urlAuthority: String { "\(urlHost)(\(port(1...65_535)))?" }

    static var proxy: String {
        "(\(caseless("http"))|\(caseless("socks"))5[Hh])://([!$&-.0-9;->A-Z^-~]{1,255}@)?\(endpoint())/?"
    }

    /// 1 to `most` bytes of a plain name.
    static func word(upTo most: Int) -> String { "[0-9A-Za-z._-]{1,\(most)}" }

    static var path: String { "/[^\\x00]*" }

    static func printable(_ counts: ClosedRange<Int>) -> String {
        "[ -~]{\(counts.lowerBound),\(counts.upperBound)}"
    }

    private static var octet: String { number(0...255) }
    private static var group: String { "[0-9A-Fa-f]{0,4}" }
    private static var bracketed: String { "(\(v4)|\\[\(v6)\\])" }
    /// A character of a label: "-", "_", a letter or digit, or one beyond ASCII.
    private static var letter: String { "[^\\x00-,./:-@\\[-^`{-\\x7F]" }
    private static var otherThanDigit: String { "[^\\x00-,.-@\\[-^`{-\\x7F]" }

    private static func port(_ ports: ClosedRange<Int>) -> String { ":0*\(number(ports))" }

    private static func caseless(_ word: String) -> String {
        word.map { "[\($0.uppercased())\($0)]" }.joined()
    }

    // MARK: numbers

    /// A decimal number in the range, which has no negative numbers, without leading zeros.
    static func number(_ range: ClosedRange<Int>) -> String {
        var parts: [String] = []
        // The numbers of digits for which every number is in the range.
        var whole: ClosedRange<Int>?
        var least = range.lowerBound
        while least <= range.upperBound {
            let digits = String(least).utf8.count
            let (first, last) = ("1" + zeros(digits - 1), Int(nines(digits)) ?? .max)
            let most = min(range.upperBound, last)
            if String(least) == first, most == last {
                whole = (whole?.lowerBound ?? digits)...digits
            } else {
                parts.append(between(String(least)[...], String(most)[...]))
            }
            guard most < range.upperBound else { break }
            least = most + 1
        }
        if let whole { parts.insert("[1-9][0-9]{\(whole.lowerBound - 1),\(whole.upperBound - 1)}", at: 0) }
        return "(\(parts.joined(separator: "|")))"
    }

    /// Numbers with as many digits as both bounds have.
    private static func between(_ least: Substring, _ most: Substring) -> String {
        guard let low = least.first, let high = most.first else { return "" }
        let (lowRest, highRest) = (least.dropFirst(), most.dropFirst())
        guard low != high else { return "\(low)\(between(lowRest, highRest))" }
        let any = lowRest.isEmpty ? "" : lowRest.count == 1 ? "[0-9]" : "[0-9]{\(lowRest.count)}"
        var (first, last) = (low, high)
        var parts: [String] = []
        if lowRest.contains(where: { $0 != "0" }) {
            parts.append("\(low)\(between(lowRest, nines(lowRest.count)))")
            first = next(low, 1)
        }
        if highRest.contains(where: { $0 != "9" }) { last = next(high, -1) }
        if first <= last { parts.append((first == last ? "\(first)" : "[\(first)-\(last)]") + any) }
        if last != high { parts.append("\(high)\(between(zeros(highRest.count), highRest))") }
        return parts.count == 1 ? parts[0] : "(\(parts.joined(separator: "|")))"
    }

    private static func next(_ digit: Character, _ step: Int) -> Character {
        Character("\((digit.wholeNumberValue ?? 0) + step)")
    }

    private static func nines(_ count: Int) -> Substring { String(repeating: "9", count: count)[...] }
    private static func zeros(_ count: Int) -> Substring { String(repeating: "0", count: count)[...] }
}
