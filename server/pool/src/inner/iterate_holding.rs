//! Iterates over the workers that hold requests, even while workers come and go.

use super::Inner;
use crate::worker::Worker;

impl Inner {
    /// Returns the workers that hold requests, with their places.
    pub fn holding(&self) -> impl Iterator<Item = (usize, &Worker)> {
        let workers = |&place: &usize| Some((place, self.workers.get(place)?.as_ref()?));
        self.holding.places.iter().filter_map(workers)
    }

    /// Calls `act` for each worker that holds requests now, even if the workers change meanwhile.
    pub fn for_each_holding(&mut self, mut act: impl FnMut(&mut Inner, usize)) {
        let mut places = std::mem::take(&mut self.holding.spare);
        places.clone_from(&self.holding.places);
        for &place in &places {
            act(self, place);
        }
        self.holding.spare = places;
    }
}
