//! Gives random numbers that a seed repeats.

pub struct Dice(u64);

impl Dice {
    /// Uses the seed of `MEHARI_TEST_SEED`, or a new one. Prints the seed.
    pub fn thrown() -> Dice {
        let seed = number_of("MEHARI_TEST_SEED").unwrap_or_else(|| {
            let now = std::time::UNIX_EPOCH.elapsed();
            now.map_or(1, |time| time.as_nanos() as u64)
        });
        println!("MEHARI_TEST_SEED={seed}");
        Dice::with_seed(seed)
    }

    pub fn with_seed(seed: u64) -> Dice {
        Dice(seed | 1)
    }

    /// Returns a number from 0 to `limit` - 1.
    pub fn below(&mut self, limit: usize) -> usize {
        // xorshift64 is a generator that gives the same sequence for the same seed.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Returns the number in a variable of the environment. `None`: the variable is not set.
pub fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(_) => panic!("{variable} is {text:?}: expected a number"),
    }
}
