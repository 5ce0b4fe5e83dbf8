// The one place that says which release this is.

package let programVersion = "0.1.0"

/// 2026-11-21 00:00 UTC, in seconds since 1970; a release moves it to its day. A machine that says it is earlier has a
/// wrong clock.
package let programReleasedAt: Int64 = 1_795_219_200
