//! Samples Perl processes at a rate for a time. One sample of one process is called a look.

use crate::activity::{Activity, ActivityWatch};
use crate::builtin;
use crate::clock::{Aside, ProcessorClock};
use crate::error::ProfileError;
use crate::filter::RequestFilter;
use crate::names::{op_type, NameCache};
use crate::process::PerlProcess;
use crate::profile::{FrameKind, FrameLabel, Observation, Profile};
use crate::stack::{look, CallStack, LookFailure};
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long and how often processes are sampled.
pub struct SamplingPlan {
    pub duration: Duration,
    /// The number of looks per second at each process.
    pub rate: f64,
    /// The requests that are sampled. `None`: all requests, and code outside of requests.
    pub only: Option<RequestFilter>,
    /// How often the [`ProcessFinder`] is asked for new processes.
    pub search_interval: Duration,
}

impl Default for SamplingPlan {
    fn default() -> SamplingPlan {
        SamplingPlan {
            duration: Duration::from_secs(10),
            rate: 99.0,
            only: None,
            search_interval: Duration::from_millis(20),
        }
    }
}

/// Returns the ids of the processes to sample. The sampler calls this function repeatedly, because
/// workers start and end.
pub type ProcessFinder<'f> = dyn FnMut() -> Vec<u32> + 'f;

/// A process that is sampled.
struct Subject {
    process: PerlProcess,
    activity: ActivityWatch,
    names: NameCache,
    clock: ProcessorClock,
    failures: u32,
    /// When the next look is due, counted from the start.
    due: Duration,
}

pub struct Sampler {
    subjects: HashMap<u32, Subject>,
    /// The processes that run no perl, with the program that each of them ran then.
    strangers: HashMap<u32, PathBuf>,
    profile: Profile,
    perls: HashSet<String>,
    manner: LookManner,
    /// When the current part began, counted from the start.
    part_begin: Duration,
}

/// The settings of all looks.
#[derive(Default)]
struct LookManner {
    /// Whether there is only one core. A process then never runs during a look, so a process that
    /// could run counts as running.
    is_alone: bool,
    only: Option<RequestFilter>,
}

/// The number of tries after which a look is given up.
const TRIES: u32 = 20;
/// The number of consecutive failed looks after which a process counts as another program.
const MOST_FAILURES: u32 = 50;

impl Sampler {
    /// Makes a sampler for these processes.
    ///
    /// # Errors
    /// The reason for which one of the processes cannot be profiled.
    pub fn new(pids: &[u32]) -> Result<Sampler, ProfileError> {
        let mut sampler = Sampler::without_processes();
        for &pid in pids {
            sampler.add(pid, Duration::ZERO)?;
        }
        if sampler.subjects.is_empty() {
            return Err(ProfileError::Nothing);
        }
        Ok(sampler)
    }

    /// Makes a sampler for the processes that its [`ProcessFinder`] will find.
    pub fn without_processes() -> Sampler {
        Sampler {
            subjects: HashMap::new(),
            strangers: HashMap::new(),
            profile: Profile::default(),
            perls: HashSet::new(),
            manner: LookManner::default(),
            part_begin: Duration::ZERO,
        }
    }

    /// Samples until the time is over, `stop` ends the sampling, or every process has ended and
    /// `find` returns none.
    pub fn run(
        self,
        plan: &SamplingPlan,
        find: &mut ProcessFinder<'_>,
        stop: &dyn Fn() -> bool,
    ) -> Profile {
        self.run_in_parts(plan, find, stop, Duration::MAX, &mut drop)
    }

    /// Samples as [`Sampler::run`], and gives away what it has after each `part` of the time.
    /// Returns the last part.
    pub fn run_in_parts(
        mut self,
        plan: &SamplingPlan,
        find: &mut ProcessFinder<'_>,
        stop: &dyn Fn() -> bool,
        part: Duration,
        take: &mut dyn FnMut(Profile),
    ) -> Profile {
        let start = Instant::now();
        self.profile.facts.begin = now();
        let mut random = Irregular(0x9e37_79b9_7f4a_7c15 ^ u64::from(std::process::id()));
        let mut searched = start;
        let mut aside = Aside::new();
        self.manner = LookManner {
            is_alone: aside.is_impossible(),
            only: plan.only.clone(),
        };
        loop {
            let so_far = start.elapsed();
            if so_far - self.part_begin >= part {
                take(self.end_part(so_far, plan.rate));
            }
            let Some((due, pid)) = self.next_due() else {
                let pids = find();
                if pids.is_empty() || start.elapsed() >= plan.duration || stop() {
                    break;
                }
                self.follow(pids, start.elapsed());
                if self.subjects.is_empty() {
                    std::thread::sleep(plan.search_interval);
                }
                continue;
            };
            if due >= plan.duration || stop() {
                break;
            }
            aside.avoid(
                self.subjects
                    .get(&pid)
                    .and_then(|subject| subject.clock.core()),
            );
            std::thread::sleep(due.saturating_sub(start.elapsed()));
            // The intervals are irregular. With regular intervals, periodic work could be seen in
            // each look or in none.
            let interval = (0.5 + random.next()) / plan.rate;
            self.look_at(
                pid,
                start.elapsed(),
                due + Duration::from_secs_f64(interval),
            );
            if searched.elapsed() >= plan.search_interval {
                searched = Instant::now();
                self.follow(find(), start.elapsed());
            }
        }
        self.end_part(start.elapsed(), plan.rate)
    }

    /// Returns the process of the next look, and when the look is due.
    fn next_due(&self) -> Option<(Duration, u32)> {
        let all = self
            .subjects
            .iter()
            .map(|(&pid, subject)| (subject.due, pid));
        all.min()
    }

    fn add(&mut self, pid: u32, due: Duration) -> Result<(), ProfileError> {
        let process = match self.fork_of(pid) {
            Some(process) => process,
            None => PerlProcess::open_beside(pid, &self.known())?,
        };
        let activity = ActivityWatch::of(pid).map_err(|_| ProfileError::Forbidden(pid))?;
        self.perls
            .insert(format!("perl {}", process.layout.version_text()));
        self.profile.facts.processes += 1;
        let subject = Subject {
            process,
            activity,
            names: NameCache::default(),
            clock: ProcessorClock::of(pid),
            failures: 0,
            due,
        };
        self.subjects.insert(pid, subject);
        Ok(())
    }

    fn known(&self) -> Vec<&PerlProcess> {
        self.subjects.values().map(|it| &it.process).collect()
    }

    /// Returns the process `pid` if a known process with the server's modules has forked it. The
    /// addresses are then the same, so no search is needed. A zygote that is still loading has no
    /// such modules yet, and its workers have them.
    fn fork_of(&self, pid: u32) -> Option<PerlProcess> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?;
        let parent = self.subjects.get(&parent.parse().ok()?)?;
        let parent = Some(&parent.process).filter(|it| it.is_ours)?;
        parent.forked(pid)
    }

    /// Begins to sample new processes. Processes without a perl are left out, such as a shell that
    /// a script has started. They are looked at again when they run another program: a process may
    /// have been seen between its fork and its exec.
    fn follow(&mut self, pids: Vec<u32>, now: Duration) {
        self.strangers.retain(|pid, _| pids.contains(pid));
        for pid in pids {
            if self.subjects.contains_key(&pid) {
                continue;
            }
            let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            if self.strangers.get(&pid) == Some(&program) {
                continue;
            }
            match self.add(pid, now) {
                Ok(()) | Err(ProfileError::NoInterpreter { .. } | ProfileError::NoProcess(_)) => {}
                Err(error) => {
                    if !matches!(error, ProfileError::NotPerl { .. }) {
                        self.profile.facts.refused = Some(error.to_string());
                    }
                    self.strangers.insert(pid, program);
                }
            }
        }
    }

    fn look_at(&mut self, pid: u32, at: Duration, next: Duration) {
        let Some(subject) = self.subjects.get_mut(&pid) else {
            return;
        };
        subject.due = next.max(at); // looks that were missed are not made up for
        subject.clock.read();
        self.profile.facts.looks += 1;
        match subject.look(&mut self.profile, &self.manner) {
            Ok(Seen::Stack(frames, is_running)) => {
                subject.failures = 0;
                let stack = self.profile.stack(frames);
                let at = at.saturating_sub(self.part_begin).as_micros() as u64;
                let seen = Observation {
                    at,
                    pid,
                    stack,
                    is_running,
                    count: 1,
                };
                self.profile.observations.push(seen);
            }
            Ok(Seen::Idle) => {
                subject.failures = 0;
                self.profile.facts.idle += 1;
            }
            Ok(Seen::Other) => subject.failures = 0,
            Ok(Seen::Nothing) if subject.failures < MOST_FAILURES => subject.failures += 1,
            Ok(Seen::Nothing) | Err(Vanished) => self.end(pid),
        }
    }

    fn end(&mut self, pid: u32) {
        if let Some(subject) = self.subjects.remove(&pid) {
            self.profile.facts.ended += 1;
            self.count_time(&subject);
        }
    }

    fn count_time(&mut self, subject: &Subject) {
        self.profile.facts.cpu_seconds += subject.clock.cpu_seconds();
        self.profile.facts.queue_seconds += subject.clock.queue_seconds();
        self.profile.facts.present_seconds += subject.clock.present_seconds();
    }

    /// Returns what was seen since the last part, and begins the next part.
    fn end_part(&mut self, elapsed: Duration, rate: f64) -> Profile {
        let mut subjects = std::mem::take(&mut self.subjects);
        for subject in subjects.values_mut() {
            subject.clock.read();
            self.count_time(subject);
            subject.clock.restart();
        }
        let mut profile = std::mem::take(&mut self.profile);
        let facts = &mut profile.facts;
        facts.seconds = (elapsed - self.part_begin).as_secs_f64();
        facts.rate = rate;
        facts.perls = self.perls.iter().cloned().collect();
        facts.perls.sort();
        self.profile.facts.processes = subjects.len();
        self.profile.facts.begin = now();
        self.part_begin = elapsed;
        self.subjects = subjects;
        profile
    }
}

/// Returns the time in microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

struct Vanished;

/// The result of a look at a process.
enum Seen {
    /// The frames, the outermost first, and whether the process runs.
    Stack(Vec<FrameLabel>, bool),
    /// The process is a Mehari worker without a request.
    Idle,
    /// The process works on a request that the filter excludes.
    Other,
    /// The look failed and is counted.
    Nothing,
}

impl Subject {
    fn look(&mut self, profile: &mut Profile, manner: &LookManner) -> Result<Seen, Vanished> {
        let before = self.clock.count();
        let activity = self.activity.now().map_err(|_| Vanished)?;
        let Some(stack) = self.steady_look()? else {
            profile.facts.torn += 1;
            return Ok(Seen::Nothing);
        };
        let Ok(mut frames) = self.names.name(&self.process, &stack) else {
            profile.facts.unnamed += 1;
            return Ok(Seen::Nothing);
        };
        let is_on_core = manner.is_alone || before.is_none() || self.clock.count() > before;
        let is_waiting = activity != Activity::Running;
        let runs_no_perl = frames.len() == 1 && frames[0].line == 0;
        if self.process.is_ours && is_waiting && runs_no_perl {
            return Ok(Seen::Idle);
        }
        let is_running = !is_waiting && is_on_core;
        if manner.only.as_ref().is_some_and(|only| !self.serves(only)) {
            profile.facts.other += 1;
            profile.facts.other_running += u64::from(is_running);
            return Ok(Seen::Other);
        }
        frames.reverse();
        frames.extend(self.leaf(&stack));
        if let Activity::Waiting(what) = activity {
            frames.push(plain(format!("wait: {what}"), FrameKind::Wait));
        }
        Ok(Seen::Stack(frames, is_running))
    }

    fn serves(&self, only: &RequestFilter) -> bool {
        self.process
            .target()
            .is_some_and(|target| only.takes(&target))
    }

    /// Looks until two reads agree. `None`: the stack changed during each try.
    fn steady_look(&self) -> Result<Option<CallStack>, Vanished> {
        for _ in 0..TRIES {
            match look(&self.process) {
                Ok(stack) => return Ok(Some(stack)),
                Err(LookFailure::Torn) => {}
                Err(LookFailure::Gone) => return Err(Vanished),
            }
        }
        Ok(None)
    }

    /// Returns the frame of the running XS sub or builtin, if it gets a frame of its own.
    fn leaf(&mut self, stack: &CallStack) -> Option<FrameLabel> {
        let op = op_type(&self.process, stack.op).ok()?;
        if usize::from(op) == self.process.layout.op_call {
            let name = self.names.xs_sub(&self.process, &stack.above)?;
            return Some(plain(name, FrameKind::Xs));
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

/// Generates random numbers from 0 to 1 (xorshift).
struct Irregular(u64);

impl Irregular {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}
