//! Lists the workers that hold requests. The code that runs for each request looks only at these
//! workers, because hundreds of others may be idle.

/// Places in [`Inner::workers`], in any order.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    pub places: Vec<usize>,
    /// Memory for the copy of `places` that is iterated while the places change.
    pub spare: Vec<usize>,
}

impl Holding {
    pub fn add(&mut self, place: usize) {
        if !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    pub fn remove(&mut self, place: usize) {
        self.places.retain(|held| *held != place);
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_added_twice_is_listed_once_and_removed_at_once() {
        let mut holding = Holding::default();
        for place in [3, 7, 3, 0] {
            holding.add(place);
        }
        assert_eq!(holding.len(), 3);
        holding.remove(3);
        holding.remove(5);
        assert_eq!(holding.places, [7, 0]);
    }
}
