//! Reads what a zygote says of a script, for `mehari explain`: whether the script can be rewound,
//! what each request costs on the rung `fork`, and which lines may end the rung `rewind`.
//!
//! The zygote answers in EXPLAINED messages, each with one line (perl/xs/process/explanation.c).

use mehari_wire::Message;
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// The answer about one script.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Explanation {
    /// Why no process of the script can be rewound. `None`: a process can.
    pub refusal: Option<String>,
    /// Present if compiling the script has effects, so that each request compiles the script.
    pub each_request_compiles: Option<Recompiled>,
    /// The status of the response, if the script does not compile.
    pub broken: Option<u64>,
    /// The shortest time that a fork of the template took, in microseconds.
    pub fork_us: u64,
    /// The size of the script's own picture in pages of 4 KiB.
    pub picture_pages: u64,
    /// How many pages the script's process maps from the base picture, which exists once.
    pub shared_pages: u64,
    /// The checks that are made after every rewind, because a library may change the state
    /// unnoticed.
    pub checks: Vec<RewindCheck>,
    /// What all these checks take together, in nanoseconds.
    pub checks_ns: u64,
    pub findings: Vec<Finding>,
    /// Why the code could not be looked through.
    pub failure: Option<String>,
}

/// Why and for how long each request compiles its script.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Recompiled {
    /// The line with the first effect. 0: the effect is in a module.
    pub line: u64,
    pub compile_us: u64,
}

/// A check that is made after every rewind.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RewindCheck {
    /// The state that is checked.
    pub of: String,
    /// What the check took here at least, in nanoseconds.
    pub ns: u64,
    pub demanded_by: Vec<Demand>,
}

/// What makes a check necessary.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Demand {
    /// A library's path, or a file that a library has opened before the first request.
    pub file: String,
    /// The function by which the library may change the state. Empty: the file is open.
    pub import: String,
}

/// A line of the script's code that may end the rung `rewind`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    pub file: String,
    pub line: u64,
    pub what: String,
    pub effect: Effect,
}

/// What a script or process loses when a request comes to such a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The script's rung is `fork` from then on.
    Fork,
    /// The process is replaced. After the third time in a row the rung is `fork`.
    Process,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    #[error("the process that compiles the script ended early (wait status {0}): does compiling it end, and within 30 s?")]
    Ended(i32),
    #[error("the zygote is gone; the error log has the reason")]
    Gone,
    #[error("{0}")]
    Load(String),
}

pub(crate) type Answer = Result<Explanation, ExplainError>;

/// Questions that zygotes have not answered yet, by number.
#[derive(Default)]
pub(crate) struct Questions {
    last: u32,
    open: BTreeMap<u32, (Explanation, oneshot::Sender<Answer>)>,
}

impl Questions {
    pub fn ask(&mut self) -> (u32, oneshot::Receiver<Answer>) {
        let (sender, receiver) = oneshot::channel();
        self.open.retain(|_, (_, waiting)| !waiting.is_closed());
        self.last = self.last.wrapping_add(1);
        self.open
            .insert(self.last, (Explanation::default(), sender));
        (self.last, receiver)
    }

    /// A message of a zygote.
    pub fn learn(&mut self, message: &Message) {
        let number = message.head.slot;
        if message.head.pid == 0 {
            if let Some((explanation, _)) = self.open.get_mut(&number) {
                explanation.learn(&message.text);
            }
        } else if let Some((explanation, sender)) = self.open.remove(&number) {
            let _ = sender.send(explanation.ended(message.head.status));
        }
    }
}

impl Explanation {
    /// Reads one line. Ignores invalid lines, because the site's code could have written them.
    fn learn(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        let mut words = line.split('\t').map(|it| it.replace(char::is_control, "?"));
        let kind = words.next().unwrap_or_default();
        let rest: Vec<String> = words.collect();
        let number = |at: usize| rest.get(at).and_then(|it| it.parse().ok()).unwrap_or(0);
        match (kind.as_str(), rest.len()) {
            ("refusal", 1) => self.refusal = Some(rest[0].clone()),
            ("failure", 1) => self.failure = Some(rest[0].clone()),
            ("fork", 1) => self.fork_us = number(0),
            ("picture", 2) => (self.picture_pages, self.shared_pages) = (number(0), number(1)),
            ("broken", 1) => self.broken = Some(number(0)),
            ("effect", 2) => {
                self.each_request_compiles = Some(Recompiled {
                    line: number(0),
                    compile_us: number(1),
                });
            }
            ("checks", 1) => self.checks_ns = number(0),
            ("check", 2) => self.checks.push(RewindCheck {
                of: rest[0].clone(),
                ns: number(1),
                demanded_by: Vec::new(),
            }),
            ("demand", 3) => {
                let check = self.checks.iter_mut().find(|check| check.of == rest[0]);
                let demand = Demand {
                    file: rest[1].clone(),
                    import: rest[2].clone(),
                };
                check
                    .into_iter()
                    .for_each(|it| it.demanded_by.push(demand.clone()));
            }
            ("finding", 4) => self.findings.push(Finding {
                effect: if rest[0] == "fork" {
                    Effect::Fork
                } else {
                    Effect::Process
                },
                line: number(1),
                what: rest[2].clone(),
                file: rest[3].clone(),
            }),
            _ => {}
        }
    }

    fn ended(mut self, status: i32) -> Answer {
        if status != 0 {
            return Err(ExplainError::Ended(status));
        }
        self.findings.sort_by(|one, other| {
            let key = |it: &Finding| (it.file.clone(), it.line);
            key(one).cmp(&key(other))
        });
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(slot: u32, pid: i32, status: i32, text: &str) -> Message {
        let mut message = Message::default();
        (message.head.slot, message.head.pid) = (slot, pid);
        (message.head.status, message.text) = (status, text.into());
        message
    }

    #[test]
    fn the_lines_of_a_zygote_become_one_answer_when_the_answering_process_ends() {
        let mut questions = Questions::default();
        let (number, mut answer) = questions.ask();
        for line in [
            "fork\t340",
            "picture\t330\t2100",
            "finding\tprocess\t9\tforks\t/a.pl",
            "finding\tfork\t3\treads\u{1b} its number\t/a.pl",
            "finding\tfork\t3",
            "check\tthreads\t510",
            "checks\t520",
            "demand\tthreads\t/lib/libx.so\tdlsym",
            "demand\ttimers\t/lib/libx.so\tdlsym",
            "nonsense",
        ] {
            questions.learn(&message(number, 0, 0, line));
        }
        questions.learn(&message(number + 1, 7, 0, ""));
        assert!(answer.try_recv().is_err(), "the process runs");
        questions.learn(&message(number, 7, 0, ""));
        let told = answer.try_recv().expect("an end").expect("an answer");
        assert_eq!((told.fork_us, told.picture_pages), (340, 330));
        assert_eq!(told.shared_pages, 2100);
        let lines: Vec<u64> = told.findings.iter().map(|it| it.line).collect();
        assert_eq!(lines, [3, 9]);
        assert_eq!(told.findings[0].what, "reads? its number");
        assert_eq!(told.findings[1].effect, Effect::Process);
        assert_eq!((told.checks.len(), told.checks_ns), (1, 520));
        let demand = &told.checks[0].demanded_by[0];
        assert_eq!((&*demand.file, &*demand.import), ("/lib/libx.so", "dlsym"));
    }

    #[test]
    fn a_process_that_dies_gives_no_answer() {
        let mut questions = Questions::default();
        let (number, mut answer) = questions.ask();
        questions.learn(&message(number, 7, 14, ""));
        let told = answer.try_recv().expect("an end");
        assert!(matches!(told, Err(ExplainError::Ended(14))));
    }
}
