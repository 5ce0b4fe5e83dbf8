// Hints to the processor.

import CLinux

/// Starts loading the cache line at an address. Later accesses to it wait less; several loads overlap.
///
/// - Parameter address: need not be valid, since nothing is read.
package func prefetch(_ address: UnsafeRawPointer) { unsafe clinux_prefetch(address) }
