//! Reads the sizes and the processor time of the workers. Of many workers each look reads a part,
//! so a look at a thousand workers costs no more than a look at two hundred.

use crate::processes::ProcessSizes;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// The most processes that one look reads.
const MOST: usize = 200;

#[derive(Default)]
pub struct SizeLooks(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// What was read of each process, with the number of the look.
    sizes: BTreeMap<u32, (u64, ProcessSizes)>,
    /// The number of looks.
    looks: u64,
}

impl SizeLooks {
    /// Returns what is known of these processes. New ones are read first, then those whose figures
    /// are the oldest.
    pub fn of(&self, pids: &[u32]) -> BTreeMap<u32, ProcessSizes> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.looks += 1;
        let all: HashSet<u32> = pids.iter().copied().collect();
        known.sizes.retain(|pid, _| all.contains(pid));
        let age = |pid: &u32| known.sizes.get(pid).map_or(0, |(look, _)| *look);
        let mut due: Vec<(u64, u32)> = all.iter().map(|pid| (age(pid), *pid)).collect();
        due.sort_unstable();
        let look = known.looks;
        for (_, pid) in due.into_iter().take(MOST) {
            match ProcessSizes::of(pid) {
                Some(sizes) => known.sizes.insert(pid, (look, sizes)),
                None => known.sizes.remove(&pid),
            };
        }
        let sizes = known.sizes.iter();
        sizes
            .map(|(pid, (_, sizes))| (*pid, sizes.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_look_reads_a_part_and_all_are_read_in_turn() {
        let looks = SizeLooks::default();
        let own = std::process::id();
        let threads = [own];
        assert!(looks.of(&threads).contains_key(&own));
        // These numbers are beyond the kernel's largest, so no process has them.
        let absent: Vec<u32> = (0..500).map(|it| (1 << 30) + it).collect();
        let mut pids = absent.clone();
        pids.push(own);
        for _ in 0..4 {
            let told = looks.of(&pids);
            assert_eq!(told.len(), 1, "{told:?}");
        }
        assert!(looks.of(&absent).is_empty());
    }
}
