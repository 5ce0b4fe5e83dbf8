// The state of the preferred family in a lookup.

/// Whether a lookup's answer yields to the other family's (`FamilyPolicy`).
enum FamilyPreference {
    /// The answer does not yield.
    case none
    /// The answer may yield; the other family is not asked yet.
    case begins
    /// The other family is asked.
    case undecided
    /// The other family has no usable address, or its answer is not known in time.
    case won
}
