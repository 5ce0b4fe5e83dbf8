// Sizes and seeds of long tests, which scripts set by environment variables.

import Glibc

/// - Returns: the number in the variable; nil if it is not set or not a number.
package func testSetting(_ name: String) -> UInt64? {
    unsafe getenv(name).flatMap { unsafe UInt64(String(cString: $0)) }
}
