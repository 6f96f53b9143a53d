//! Finds generations by number, and ends old generations.

use super::Inner;
use crate::generation::{Generation, Loaded};
use crate::warmup_report::WarmupReport;

impl Inner {
    pub fn generation(&mut self, number: u32) -> Option<&mut Generation> {
        self.generations
            .iter_mut()
            .find(|generation| generation.number == number)
    }

    pub fn loaded(&mut self, number: u32, perl: usize) -> Option<&mut Loaded> {
        self.generation(number)?.zygotes.get_mut(perl)
    }

    /// Returns what the warm-up of a Perl of the current generation has brought.
    pub fn warmup_of(&self, perl: usize) -> Option<WarmupReport> {
        let mut generations = self.generations.iter();
        let generation = generations.find(|it| it.number == self.current)?;
        generation.zygotes.get(perl)?.warmup.clone()
    }

    /// Drops the zygotes of generations that no longer serve and have no workers left.
    pub fn drop_ended_generations(&mut self) {
        let current = self.current;
        let busy: Vec<u32> = self
            .workers
            .iter()
            .flatten()
            .map(|worker| worker.generation)
            .collect();
        self.generations
            .retain(|generation| generation.number >= current || busy.contains(&generation.number));
    }
}
