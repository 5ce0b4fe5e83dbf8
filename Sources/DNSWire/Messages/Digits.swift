// Numbers as text of a fixed width.

extension BinaryInteger {
    /// Returns the digits of a number that is not negative, with zeros before them up to this count.
    package func digits(_ count: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }
}
