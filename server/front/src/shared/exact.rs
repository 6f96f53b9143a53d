//! Gives chosen requests to the pool of an exact profile (`mehari profile --exact`). Only the
//! control socket begins such a profile, and only a request with its secret, or one request in so
//! many for a path, is chosen. While there is none, each request for Perl costs one test.

use crate::request::{path_of, Request};
use mehari_config::{Site, TeamMark};
use mehari_pool::{Call, Pool};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The field of a request that carries the secret.
pub const FIELD: &str = "Mehari-Profile";

/// Which requests are profiled.
pub enum ExactChoice {
    /// Requests whose field has the secret. The function compares in constant time.
    Secret(Box<dyn Fn(&str) -> bool>),
    /// One in so many of the requests for this path and everything below it.
    OneIn { location: String, every: u32 },
}

/// What an exact profile has got so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExactCounts {
    /// The chosen requests that the profiled process has got.
    pub taken: u32,
    /// A chosen request was for this pool, which runs as another user.
    pub foreign: Option<String>,
}

struct Profiled {
    pool: Pool,
    choice: ExactChoice,
    /// Requests for the location.
    seen: Cell<u32>,
    /// The number of the last chosen request, which an internal redirect may bring again.
    last: Cell<u64>,
    counts: RefCell<ExactCounts>,
    /// The pools that run as another user.
    foreign: Vec<(TeamMark, String)>,
}

#[derive(Default)]
pub struct Exact {
    is_armed: Cell<bool>,
    profiled: RefCell<Option<Rc<Profiled>>>,
}

impl Exact {
    #[inline(always)]
    pub fn is_armed(&self) -> bool {
        self.is_armed.get()
    }

    /// Gives the chosen requests to this pool until the result is dropped. `None`: there is an
    /// exact profile already.
    pub fn arm(self: &Rc<Self>, site: &Site, pool: Pool, choice: ExactChoice) -> Option<Profiling> {
        if self.is_armed() {
            return None;
        }
        let pools = site.pools().filter(|(_, pool)| pool.is_launched());
        let profiled = Rc::new(Profiled {
            pool,
            choice,
            seen: Cell::new(0),
            last: Cell::new(0),
            counts: RefCell::default(),
            foreign: pools
                .map(|(team, pool)| (team.mark, pool.name.clone()))
                .collect(),
        });
        self.profiled.replace(Some(profiled.clone()));
        self.is_armed.set(true);
        Some(Profiling {
            exact: self.clone(),
            profiled,
        })
    }

    /// Returns the pool for a chosen request, and changes the call for it. `None`: the server's
    /// workers serve the request.
    #[cold]
    pub fn pool_for(&self, request: &Request<'_>, call: &mut Call<'_>) -> Option<Pool> {
        let profiled = self.profiled.borrow().clone()?;
        if profiled.last.get() != request.id && !profiled.chooses(request) {
            return None;
        }
        let mut counts = profiled.counts.borrow_mut();
        let mut foreign = profiled.foreign.iter();
        if let Some((_, name)) = foreign.find(|(mark, _)| *mark == call.team) {
            counts.foreign = Some(name.clone());
            return None;
        }
        counts.taken += u32::from(profiled.last.replace(request.id) != request.id);
        Pool::make_exact(call);
        Some(profiled.pool.clone())
    }
}

impl Profiled {
    fn chooses(&self, request: &Request<'_>) -> bool {
        match &self.choice {
            ExactChoice::Secret(is_secret) => {
                let given = request.field(FIELD);
                let given = given.and_then(|value| std::str::from_utf8(value).ok());
                given.is_some_and(is_secret)
            }
            ExactChoice::OneIn { location, every } => {
                is_below(path_of(request.target), location.as_bytes()) && {
                    let seen = self.seen.get();
                    self.seen.set(seen.wrapping_add(1));
                    seen.is_multiple_of(*every)
                }
            }
        }
    }
}

/// Whether a path is this place or below it.
pub fn is_below(path: &[u8], place: &[u8]) -> bool {
    let rest = path.strip_prefix(place);
    rest.is_some_and(|rest| place.ends_with(b"/") || rest.is_empty() || rest.starts_with(b"/"))
}

/// An exact profile. Dropping the value ends it: no further request is chosen.
pub struct Profiling {
    exact: Rc<Exact>,
    profiled: Rc<Profiled>,
}

impl Profiling {
    pub fn counts(&self) -> ExactCounts {
        self.profiled.counts.borrow().clone()
    }

    /// Chooses no further request.
    pub fn stop(&self) {
        self.exact.is_armed.set(false);
        self.exact.profiled.replace(None);
    }
}

impl Drop for Profiling {
    fn drop(&mut self) {
        self.stop();
    }
}
