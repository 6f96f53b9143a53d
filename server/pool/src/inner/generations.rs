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

    /// Whether the generation has not begun to serve.
    pub fn is_loading(&self, number: u32) -> bool {
        let mut generations = self.generations.iter();
        generations.any(|it| it.number == number && !it.serves)
    }

    /// Returns the generation that serves a team. 0: none.
    pub fn serving(&self, team: usize) -> u32 {
        self.teams.get(team).map_or(0, |team| team.generation)
    }

    /// Returns the generation whose zygote of this Perl forks the workers that serve. 0: none.
    pub fn serving_perl(&self, perl: usize) -> u32 {
        let mut teams = self.teams.iter();
        let team = teams.find(|team| team.perl == perl);
        team.map_or(0, |team| team.generation)
    }

    /// Returns the zygote of a Perl that serves.
    pub fn serving_zygote(&self, perl: usize) -> Option<&Loaded> {
        let number = self.serving_perl(perl);
        let mut generations = self.generations.iter();
        let generation = generations.find(|it| it.number == number)?;
        generation.zygotes.get(perl)
    }

    /// Returns what the warm-up of a Perl that serves has brought.
    pub fn warmup_of(&self, perl: usize) -> Option<WarmupReport> {
        self.serving_zygote(perl)?.warmup.clone()
    }

    /// Drops the zygotes that no longer serve and have no workers left, and the generations without
    /// zygotes.
    pub fn drop_ended_generations(&mut self) {
        let workers = self.workers.iter().flatten();
        let busy: Vec<(u32, usize)> = workers.map(|it| (it.generation, it.perl)).collect();
        let teams = self.teams.iter();
        let serving: Vec<(u32, usize)> = teams.map(|it| (it.generation, it.perl)).collect();
        for generation in self.generations.iter_mut().filter(|it| it.serves) {
            let number = generation.number;
            for (perl, loaded) in generation.zygotes.iter_mut().enumerate() {
                let place = (number, perl);
                if !busy.contains(&place) && !serving.contains(&place) {
                    *loaded = Loaded::default();
                }
            }
        }
        self.generations.retain(|generation| {
            let is_used = |(number, _): &(u32, usize)| *number == generation.number;
            !generation.serves || busy.iter().chain(&serving).any(is_used)
        });
    }
}
