//! Numbers from a seed: splitmix64, so that a file can be made again anywhere from its seed alone.

/// A stream of numbers that its seed determines.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number of 64 bits.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is not 0. The bias of the remainder does not matter here.
    pub(crate) const fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number from `low` to `high`, both included.
    pub(crate) const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True in so many of ten thousand cases.
    pub(crate) const fn in_10_000(&mut self, cases: u64) -> bool {
        self.below(10_000) < cases
    }

    /// An index into a list of `length` members.
    pub(crate) const fn index(&mut self, length: usize) -> usize {
        (self.next() % length as u64) as usize
    }
}
