//! One process that is sampled. A look at the process tells whether it runs, and its call stack.
//!
//! A process that has had no core since the last look is not read again: its call stack is the
//! same. The scheduler's records of the process show this without a system call. Without these
//! records, the kernel's times of the process show it of a process that waits.

use crate::activity::{Activity, ActivityWatch};
use crate::builtin;
use crate::clock::ProcessorClock;
use crate::error::ProfileError;
use crate::filter::RequestFilter;
use crate::names::NameCache;
use crate::process::PerlProcess;
use crate::profile::{FrameKind, FrameLabel, Profile};
use crate::stack::{above, look, CallStack, LookFailure, StackPlace};
use crate::switches::{Switch, Switches, Turn};

pub struct Subject {
    pub process: PerlProcess,
    pub clock: ProcessorClock,
    /// The number of consecutive failed looks.
    pub failures: u32,
    activity: ActivityWatch,
    names: NameCache,
    /// `None`: the kernel does not tell who has a core.
    switches: Option<Switches>,
    place: StackPlace,
    rest: Option<Rest>,
}

/// The last look, at a process without a core.
struct Rest {
    mark: u64,
    seen: Seen,
}

/// The beginning of a look.
struct Moment {
    /// The mark changes when the process gets a core or loses it.
    mark: u64,
    /// `None`: unknown.
    turn: Option<Turn>,
}

/// The settings of all looks.
#[derive(Default)]
pub struct LookManner {
    pub only: Option<RequestFilter>,
    /// When and where the sampler has got its core for these looks. The process that it has
    /// displaced there has run until this moment, so it counts as running.
    pub arrival: Option<Switch>,
}

pub struct Vanished;

/// The result of a look at a process.
#[derive(Debug, Clone, Copy)]
pub enum Seen {
    Stack {
        /// The number of the stack in the profile.
        stack: u32,
        is_running: bool,
    },
    /// The process is a Mehari worker without a request.
    Idle,
    /// The process works on a request that the filter excludes.
    Other { is_running: bool },
    /// The stack changed during each try.
    Torn,
    /// perl has freed what the names are read from.
    Unnamed,
}

impl Seen {
    /// Returns what the next look sees if the process has had no core until then.
    fn without_a_core(self) -> Seen {
        let is_running = false;
        match self {
            Seen::Stack { stack, .. } => Seen::Stack { stack, is_running },
            Seen::Other { .. } => Seen::Other { is_running },
            other => other,
        }
    }
}

/// The number of tries after which a look is given up.
const TRIES: u32 = 20;

impl Subject {
    /// # Errors
    /// The kernel does not allow to watch the process.
    pub fn new(process: PerlProcess) -> Result<Subject, ProfileError> {
        let pid = process.pid;
        Ok(Subject {
            clock: ProcessorClock::of(pid),
            activity: ActivityWatch::of(pid).map_err(|_| ProfileError::Forbidden(pid))?,
            process,
            failures: 0,
            names: NameCache::default(),
            switches: Switches::of(pid),
            place: StackPlace::default(),
            rest: None,
        })
    }

    /// Begins with a new profile: the numbers of frames and stacks are other numbers.
    pub fn begin_profile(&mut self) {
        self.names.begin_profile();
        self.rest = None;
    }

    pub fn look(&mut self, profile: &mut Profile, manner: &LookManner) -> Result<Seen, Vanished> {
        let moment = self.moment();
        if let Some(rest) = &self.rest {
            // A process that has been woken but has no core yet still counts as waiting.
            if rest.mark == moment.mark {
                profile.facts.at_rest += 1;
                return Ok(rest.seen);
            }
        }
        let Some(stack) = self.steady_look()? else {
            return Ok(Seen::Torn);
        };
        let Ok(frames) = self.names.name(&self.process, &stack, profile) else {
            return Ok(Seen::Unnamed);
        };
        let runs_no_perl = frames.len() == 1 && profile.frames[frames[0] as usize].line == 0;
        let is_idle = self.process.is_ours && runs_no_perl;
        let (activity, is_on_core) = self.activity(manner, &moment, is_idle)?;
        let is_waiting = activity != Activity::Running;
        let is_running = is_on_core && !is_waiting;
        let seen = if is_idle && is_waiting {
            Seen::Idle
        } else {
            self.seen(profile, manner, &stack, frames, activity, is_running)
        };
        let is_at_rest = match moment.turn {
            Some(turn) => turn != Turn::Running && !self.has_run_since(&moment),
            None => is_waiting,
        };
        self.rest = is_at_rest.then(|| Rest {
            mark: moment.mark,
            seen: seen.without_a_core(),
        });
        Ok(seen)
    }

    fn moment(&mut self) -> Moment {
        let Some(switches) = &self.switches else {
            let times = self.clock.read();
            return Moment {
                mark: times.map_or(0, |times| times.turns),
                turn: None,
            };
        };
        self.clock.read_if_due();
        match switches.now() {
            Some(state) => Moment {
                mark: state.mark,
                turn: Some(state.turn),
            },
            None => Moment {
                mark: 0,
                turn: None,
            },
        }
    }

    /// Whether the process has got or lost a core since the look began.
    fn has_run_since(&self, moment: &Moment) -> bool {
        let switches = self.switches.as_ref();
        switches.is_some_and(|switches| switches.mark() != moment.mark)
    }

    /// Returns what the process does, and whether it was on a core. If the process has begun to run
    /// after the look, the look did not see it wait. `is_idle`: it does not matter for what the
    /// process waits.
    fn activity(
        &mut self,
        manner: &LookManner,
        moment: &Moment,
        is_idle: bool,
    ) -> Result<(Activity, bool), Vanished> {
        let has_run = self.has_run_since(moment);
        match moment.turn {
            Some(Turn::Running) => Ok((Activity::Running, true)),
            Some(_) if has_run => Ok((Activity::Running, true)),
            Some(Turn::Preempted(lost)) => {
                let is_displaced = manner.arrival.is_some_and(|it| lost.was_for(it));
                Ok((Activity::Running, is_displaced))
            }
            Some(Turn::Waiting) if is_idle => Ok((Activity::Waiting(String::new()), false)),
            Some(Turn::Waiting) => {
                let activity = self.activity.now().map_err(|_| Vanished)?;
                if self.has_run_since(moment) {
                    Ok((Activity::Running, true))
                } else {
                    Ok((activity, false))
                }
            }
            None => Ok((self.activity.now().map_err(|_| Vanished)?, true)),
        }
    }

    fn seen(
        &mut self,
        profile: &mut Profile,
        manner: &LookManner,
        stack: &CallStack,
        mut frames: Vec<u32>,
        activity: Activity,
        is_running: bool,
    ) -> Seen {
        if manner.only.as_ref().is_some_and(|only| !self.serves(only)) {
            return Seen::Other { is_running };
        }
        frames.extend(self.leaf(stack).map(|leaf| profile.frame(leaf)));
        if let Activity::Waiting(what) = activity {
            frames.push(profile.frame(plain(format!("wait: {what}"), FrameKind::Wait)));
        }
        Seen::Stack {
            stack: profile.stack_of(frames),
            is_running,
        }
    }

    fn serves(&self, only: &RequestFilter) -> bool {
        let target = self.process.target();
        target.is_some_and(|target| only.takes(&target))
    }

    /// Looks until two reads agree. `None`: the stack changed during each try.
    fn steady_look(&mut self) -> Result<Option<CallStack>, Vanished> {
        for _ in 0..TRIES {
            match look(&self.process, &mut self.place) {
                Ok(stack) => return Ok(Some(stack)),
                Err(LookFailure::Torn) => {}
                Err(LookFailure::Gone) => return Err(Vanished),
            }
        }
        Ok(None)
    }

    /// Returns the frame of the running XS sub or builtin, if it gets a frame of its own.
    fn leaf(&mut self, stack: &CallStack) -> Option<FrameLabel> {
        let op = self.names.op(&self.process, stack)?;
        if usize::from(op) == self.process.layout.op_call {
            let above = above(&self.process, stack);
            let name = self.names.xs_sub(&self.process, &above)?;
            return Some(plain(name.to_string(), FrameKind::Xs));
        }
        let (name, kind) = builtin::frame(self.process.op_name(op)?)?;
        Some(plain(name, kind))
    }
}

fn plain(name: String, kind: FrameKind) -> FrameLabel {
    FrameLabel {
        name,
        file: String::new(),
        line: 0,
        kind,
    }
}
