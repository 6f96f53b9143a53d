//! One process that is sampled. A look at the process tells whether it runs, and its call stack.
//!
//! A process that waits and has not run since the last look is not read again: its call stack is
//! the same. The kernel's times of the process show this, in one read.

use crate::activity::{Activity, ActivityWatch};
use crate::builtin;
use crate::clock::{ProcessorClock, ProcessorTimes};
use crate::error::ProfileError;
use crate::filter::RequestFilter;
use crate::names::{NameCache, NamedStack};
use crate::process::PerlProcess;
use crate::profile::{FrameKind, FrameLabel, Profile};
use crate::stack::{look, CallStack, LookFailure};

pub struct Subject {
    pub process: PerlProcess,
    pub clock: ProcessorClock,
    /// The number of consecutive failed looks.
    pub failures: u32,
    activity: ActivityWatch,
    names: NameCache,
    /// Where the description of perl's stack was at the last look.
    stack_info: u64,
    rest: Option<Rest>,
}

/// The last look, at a process that waited.
struct Rest {
    times: ProcessorTimes,
    seen: Seen,
}

/// The settings of all looks.
#[derive(Default)]
pub struct LookManner {
    /// Whether there is only one core. A process then never runs during a look, so a process that
    /// could run counts as running.
    pub is_alone: bool,
    pub only: Option<RequestFilter>,
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
    /// The process could run, but the sampler has its core.
    Displaced,
    /// The stack changed during each try.
    Torn,
    /// perl has freed what the names are read from.
    Unnamed,
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
            stack_info: 0,
            rest: None,
        })
    }

    /// Begins with a new profile: the numbers of frames and stacks are other numbers.
    pub fn begin_profile(&mut self) {
        self.names.begin_profile();
        self.rest = None;
    }

    /// `core`: the sampler's core, if it can go aside. A look at a process that waits for this core
    /// returns [`Seen::Displaced`].
    pub fn look(
        &mut self,
        profile: &mut Profile,
        manner: &LookManner,
        core: Option<usize>,
    ) -> Result<Seen, Vanished> {
        let times = self.clock.read();
        if let Some(rest) = &self.rest {
            // A process that has been woken but has no core yet still counts as waiting.
            if Some(rest.times) == times {
                profile.facts.at_rest += 1;
                return Ok(rest.seen);
            }
        }
        let before = self.clock.count();
        let Some(stack) = self.steady_look()? else {
            return Ok(Seen::Torn);
        };
        let is_on_core = manner.is_alone || before.is_none() || self.clock.count() > before;
        let activity = self.activity(manner, before, is_on_core)?;
        let has_no_core = !is_on_core && activity == Activity::Running;
        if has_no_core && core.is_some() && self.clock.core() == core {
            return Ok(Seen::Displaced);
        }
        let is_running = is_on_core && activity == Activity::Running;
        let is_waiting = activity != Activity::Running;
        let seen = self.seen(profile, manner, &stack, activity, is_running);
        self.rest = times
            .filter(|_| is_waiting && !matches!(seen, Seen::Unnamed))
            .map(|times| Rest { times, seen });
        Ok(seen)
    }

    /// Returns what the process does. A process that was on a core during the look runs: the kernel
    /// is not asked. If the process has begun to run after the look, the look did not see it wait.
    fn activity(
        &mut self,
        manner: &LookManner,
        before: Option<u64>,
        is_on_core: bool,
    ) -> Result<Activity, Vanished> {
        let is_known = !manner.is_alone && before.is_some();
        if is_known && is_on_core {
            return Ok(Activity::Running);
        }
        let activity = self.activity.now().map_err(|_| Vanished)?;
        let has_run = is_known && self.clock.count() > before;
        Ok(match has_run {
            true => Activity::Running,
            false => activity,
        })
    }

    fn seen(
        &mut self,
        profile: &mut Profile,
        manner: &LookManner,
        stack: &CallStack,
        activity: Activity,
        is_running: bool,
    ) -> Seen {
        let Ok(NamedStack { mut frames, op }) = self.names.name(&self.process, stack, profile)
        else {
            return Seen::Unnamed;
        };
        let runs_no_perl = frames.len() == 1 && profile.frames[frames[0] as usize].line == 0;
        if self.process.is_ours && runs_no_perl && activity != Activity::Running {
            return Seen::Idle;
        }
        if manner.only.as_ref().is_some_and(|only| !self.serves(only)) {
            return Seen::Other { is_running };
        }
        let leaf = op.and_then(|op| self.leaf(op, stack));
        frames.extend(leaf.map(|leaf| profile.frame(leaf)));
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
            match look(&self.process, &mut self.stack_info) {
                Ok(stack) => return Ok(Some(stack)),
                Err(LookFailure::Torn) => {}
                Err(LookFailure::Gone) => return Err(Vanished),
            }
        }
        Ok(None)
    }

    /// Returns the frame of the running XS sub or builtin, if it gets a frame of its own.
    fn leaf(&mut self, op: u16, stack: &CallStack) -> Option<FrameLabel> {
        if usize::from(op) == self.process.layout.op_call {
            let name = self.names.xs_sub(&self.process, &stack.above)?;
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
