// Sizes and seeds of long tests, which scripts set by environment variables.

import Glibc

/// - Returns: nil where the variable is not set, or no number.
package func testSetting(_ name: String) -> UInt64? {
    unsafe getenv(name).flatMap { unsafe UInt64(String(cString: $0)) }
}
