//! Keeps the visits of a thread. A visit is one run of a session: its present burst, outstanding
//! calls, and cookies.

use crate::moment::Moment;

use super::cookies::Jar;

#[derive(Debug)]
pub struct Visit {
    /// Index into the plan's sessions.
    pub session: usize,
    pub burst: usize,
    /// The number of unanswered calls of the present burst.
    pub outstanding: usize,
    pub intended: Moment,
    pub permitted: Moment,
    /// Tokens of the visit's connections by endpoint.
    pub links: Vec<(usize, u64)>,
    /// Present if the session keeps cookies.
    pub jar: Option<Jar>,
    pub answered: u32,
    pub failed: u32,
    pub connections: u32,
    /// Whether a call failed and the session ends after the rest of the burst.
    pub ending: bool,
    /// Whether the visit could not open a connection.
    pub refused: bool,
}

impl Visit {
    pub fn new(session: usize, cookies: bool, intended: Moment, permitted: Moment) -> Visit {
        Visit {
            session,
            burst: 0,
            outstanding: 0,
            intended,
            permitted,
            links: Vec::new(),
            jar: cookies.then(Jar::default),
            answered: 0,
            failed: 0,
            connections: 0,
            ending: false,
            refused: false,
        }
    }
}

/// The unfinished visits of a thread.
#[derive(Default)]
pub struct Visits {
    slots: Vec<Option<Visit>>,
    free: Vec<u32>,
    pub active: usize,
}

impl Visits {
    pub fn add(&mut self, visit: Visit) -> u32 {
        self.active += 1;
        match self.free.pop() {
            Some(index) => {
                self.slots[index as usize] = Some(visit);
                index
            }
            None => {
                self.slots.push(Some(visit));
                (self.slots.len() - 1) as u32
            }
        }
    }

    pub fn get(&mut self, index: u32) -> Option<&mut Visit> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    pub fn remove(&mut self, index: u32) -> Option<Visit> {
        let visit = self.slots.get_mut(index as usize)?.take()?;
        self.free.push(index);
        self.active -= 1;
        Some(visit)
    }

    pub fn indices(&self) -> std::ops::Range<u32> {
        0..self.slots.len() as u32
    }
}
