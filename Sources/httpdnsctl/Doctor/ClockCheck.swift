// Checks the wall clock against the date of this release and the validity periods of provider certificates. Reads no
// clock.

struct ClockCheck: Sendable {
    /// The validity period of a certificate with a trusted authority and a matching name.
    struct Dates: Equatable, Sendable {
        let notBefore: Int64
        let notAfter: Int64
        /// True if every certificate of the chain is valid now.
        let isValidNow: Bool
    }

    /// Seconds since 1970.
    let now: Int64
    let releasedAt: Int64
    /// At most one entry for each provider that presented a certificate.
    let certificates: [Dates]
    /// Nil: unknown.
    let isSynchronised: Bool?

    private static let remedy = "timedatectl set-ntp true; or date -u -s 'YYYY-MM-DD hh:mm', then hwclock --systohc"

    /// If the clock is wrong, expired-certificate findings of providers are suppressed.
    var isWrong: Bool { now < releasedAt || isWrongByCertificates }

    /// Requires two invalid certificates and no valid one, since one operator may forget a renewal.
    private var isWrongByCertificates: Bool {
        let invalid = certificates.filter { !$0.isValidNow }.count
        return invalid >= 2 && invalid == certificates.count
    }

    var findings: [Finding] {
        if now < releasedAt {
            return [
                Finding(
                    .fault, .clock, "says \(CalendarDay(now)), before this release (\(CalendarDay(releasedAt)))",
                    remedy: ClockCheck.remedy)
            ]
        }
        if isWrongByCertificates {
            let isEarly = certificates.contains { now < $0.notBefore }
            return [
                Finding(
                    .fault, .clock,
                    "says \(CalendarDay(now)), and the certificates of all providers "
                        + (isEarly ? "are not valid yet" : "have expired"),
                    remedy: ClockCheck.remedy)
            ]
        }
        guard isSynchronised == false else { return [] }
        return [
            Finding(
                .note, .clock, "not synchronised (the kernel reports unsynchronised)",
                remedy: "timedatectl set-ntp true")
        ]
    }
}

/// Formats a moment in UTC as "2026-11-21". Clamps to the years 1970 to 9999.
struct CalendarDay: CustomStringConvertible {
    private let days: Int64

    init(_ secondsSince1970: Int64) {
        days = min(max(secondsSince1970, 0), 253_402_300_799) / 86_400
    }

    /// Counts years of 365.2425 days that begin on 1 March, so that the leap day comes last.
    var description: String {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let day = shifted % 146_097
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let number = month < 10 ? month + 3 : month - 9
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        return "\(year + era * 400 + (number <= 2 ? 1 : 0))-\(twoDigits(number))-\(twoDigits(dayOfMonth))"
    }

    private func twoDigits(_ number: Int64) -> String { (number < 10 ? "0" : "") + "\(number)" }
}
