//! Samples Perl processes at a rate for a time. One sample of one process is called a look.

use crate::error::ProfileError;
use crate::filter::RequestFilter;
use crate::process::PerlProcess;
use crate::profile::{Observation, Profile};
use crate::promptness::Promptness;
use crate::subject::{LookManner, Seen, Subject, Vanished};
use crate::switches::Switches;
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

/// The number of consecutive failed looks after which a process counts as another program.
const MOST_FAILURES: u32 = 50;
/// How often the sampler asks whether it must stop.
const STOP_INTERVAL: Duration = Duration::from_millis(10);
/// The process id by which the kernel knows the caller.
const THIS_THREAD: u32 = 0;

impl Sampler {
    /// Makes a sampler for these processes. Of several, those are left out that cannot be profiled,
    /// because a worker may end at any time. [`Sampler::run`] tries again.
    ///
    /// # Errors
    /// The reason for which none of the processes can be profiled.
    pub fn new(pids: &[u32]) -> Result<Sampler, ProfileError> {
        let mut sampler = Sampler::without_processes();
        let mut first = None;
        for &pid in pids {
            if let Err(error) = sampler.add(pid) {
                first.get_or_insert(error);
            }
        }
        if sampler.subjects.is_empty() {
            return Err(first.unwrap_or(ProfileError::Nothing));
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
        let (mut due, mut search) = (Duration::ZERO, Duration::ZERO);
        let own = Switches::of(THIS_THREAD);
        let _prompt = Promptness::new();
        self.manner.only = plan.only.clone();
        let mut asked = Duration::ZERO;
        while due < plan.duration {
            if start.elapsed() >= asked {
                if stop() {
                    break;
                }
                asked = start.elapsed() + STOP_INTERVAL;
            }
            std::thread::sleep(due.saturating_sub(start.elapsed()));
            if start.elapsed() - self.part_begin >= part {
                take(self.end_part(start.elapsed(), plan.rate));
            }
            if start.elapsed() >= search || self.subjects.is_empty() {
                let pids = find();
                if pids.is_empty() && self.subjects.is_empty() {
                    break;
                }
                self.follow(pids);
                search = start.elapsed() + plan.search_interval;
            }
            if self.subjects.is_empty() {
                due = search;
                continue;
            }
            self.manner.arrival = own.as_ref().and_then(Switches::now).map(|it| it.last);
            let pids: Vec<u32> = self.subjects.keys().copied().collect();
            for pid in pids {
                self.look_at(pid, start.elapsed());
            }
            // The intervals are irregular. With regular intervals, periodic work could be seen in
            // each look or in none. Looks that were missed are not made up for.
            let interval = (0.5 + random.next()) / plan.rate;
            due = start.elapsed().max(due + Duration::from_secs_f64(interval));
        }
        self.end_part(start.elapsed(), plan.rate)
    }

    fn add(&mut self, pid: u32) -> Result<(), ProfileError> {
        let process = match self.fork_of(pid) {
            Some(process) => process,
            None => PerlProcess::open_beside(pid, &self.known())?,
        };
        let subject = Subject::new(process)?;
        self.perls
            .insert(format!("perl {}", subject.process.layout.version_text()));
        self.profile.facts.processes += 1;
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
    fn follow(&mut self, pids: Vec<u32>) {
        self.strangers.retain(|pid, _| pids.contains(pid));
        for pid in pids {
            if self.subjects.contains_key(&pid) {
                continue;
            }
            let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
            if self.strangers.get(&pid) == Some(&program) {
                continue;
            }
            match self.add(pid) {
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

    fn look_at(&mut self, pid: u32, at: Duration) {
        let Some(subject) = self.subjects.get_mut(&pid) else {
            return;
        };
        let seen = subject.look(&mut self.profile, &self.manner);
        let facts = &mut self.profile.facts;
        facts.looks += 1;
        let is_failure = matches!(seen, Ok(Seen::Torn | Seen::Unnamed));
        subject.failures = if is_failure { subject.failures + 1 } else { 0 };
        match seen {
            Ok(Seen::Stack { stack, is_running }) => self.profile.observations.push(Observation {
                at: at.saturating_sub(self.part_begin).as_micros() as u64,
                pid,
                stack,
                is_running,
                count: 1,
            }),
            Ok(Seen::Idle) => facts.idle += 1,
            Ok(Seen::Other { is_running }) => {
                facts.other += 1;
                facts.other_running += u64::from(is_running);
            }
            Ok(Seen::Torn) => facts.torn += 1,
            Ok(Seen::Unnamed) => facts.unnamed += 1,
            Err(Vanished) => self.end(pid),
        }
        if is_failure && self.subjects[&pid].failures > MOST_FAILURES {
            self.end(pid);
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
            subject.begin_profile();
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
