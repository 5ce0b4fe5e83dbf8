// The release version, defined only here.

import DNSWire

package let programVersion = "0.1.0"

/// The release date, 2026-11-21 00:00 UTC, in seconds since 1970; each release sets it. An earlier system clock is
/// wrong.
package let programReleasedAt: Int64 = 1_795_219_200
