//! Draws random numbers from a seed (SplitMix64), so a plan can be repeated exactly. A library is
//! no choice here, because its next version may draw other numbers from the same seed.

#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a uniformly distributed number in 0..limit. `limit` must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns an exponentially distributed number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        // 53 random bits plus one half: never 0 and never 1.
        let uniform = ((self.draw() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        -uniform.ln()
    }
}
