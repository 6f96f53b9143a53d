//! The result of a sampling: frames, stacks of frames, and one observation for each look.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    Perl,
    Xs,
    /// perl's regex engine.
    Regex,
    /// A builtin that calls the kernel.
    SystemCall,
    Builtin,
    /// What the process waits for.
    Wait,
}

impl FrameKind {
    pub const ALL: [FrameKind; 6] = [
        FrameKind::Perl,
        FrameKind::Xs,
        FrameKind::Regex,
        FrameKind::SystemCall,
        FrameKind::Builtin,
        FrameKind::Wait,
    ];

    /// Returns the word for the kind in reports.
    pub fn word(self) -> &'static str {
        match self {
            FrameKind::Perl => "perl",
            FrameKind::Xs => "xs",
            FrameKind::Regex => "regex",
            FrameKind::SystemCall => "system call",
            FrameKind::Builtin => "builtin",
            FrameKind::Wait => "wait",
        }
    }
}

/// A frame of a stack. Two lines of a sub are two frames.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FrameLabel {
    pub name: String,
    /// The source file. Empty if the frame is not Perl code.
    pub file: String,
    pub line: u32,
    pub kind: FrameKind,
}

/// One look at one process, or several equal looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// Microseconds since the start.
    pub at: u64,
    pub pid: u32,
    /// Index into [`Profile::stacks`].
    pub stack: u32,
    /// Whether the process was on a core. Otherwise it waited, perhaps for a core.
    pub is_running: bool,
    /// The number of looks.
    pub count: u32,
}

/// The figures about the sampling itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SamplingFacts {
    /// When the sampling began, in microseconds since 1970.
    pub begin: u64,
    /// The versions of all sampled perls, each as `perl 5.36.0`.
    pub perls: Vec<String>,
    pub processes: usize,
    /// Seconds from the first look to the last.
    pub seconds: f64,
    /// The requested number of looks per second at each process.
    pub rate: f64,
    /// The number of all looks. Each look stands for an equal part of a process's time.
    pub looks: u64,
    /// The seconds for which the processes were sampled, added up over all processes.
    pub present_seconds: f64,
    /// The number of looks at workers without a request.
    pub idle: u64,
    /// The number of looks at processes that had not run since the last look. Such a process is not
    /// read again.
    pub at_rest: u64,
    /// The number of looks at requests that the filter excludes.
    pub other: u64,
    /// How many of the looks in `other` saw a process on a core.
    pub other_running: u64,
    /// The number of looks that were given up, because the stack changed during each try.
    pub torn: u64,
    /// The number of looks whose names could not be read, because perl had freed them.
    pub unnamed: u64,
    /// The number of processes that ended during the sampling.
    pub ended: u64,
    /// The seconds of processor time of all processes, by the kernel's count.
    pub cpu_seconds: f64,
    /// The seconds for which the processes waited for a core.
    pub queue_seconds: f64,
    /// Why a process could not be sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Profile {
    pub frames: Vec<FrameLabel>,
    /// Indices of frames, the outermost first.
    pub stacks: Vec<Vec<u32>>,
    pub observations: Vec<Observation>,
    pub facts: SamplingFacts,
    frame_numbers: HashMap<FrameLabel, u32>,
    stack_numbers: HashMap<Vec<u32>, u32>,
}

impl Profile {
    /// Returns the number of a stack. `frames`: the outermost frame first.
    pub fn stack(&mut self, frames: Vec<FrameLabel>) -> u32 {
        let numbers = frames.into_iter().map(|frame| self.frame(frame)).collect();
        self.stack_of(numbers)
    }

    /// Returns the number of a stack. `numbers`: its frames' numbers, the outermost first.
    pub fn stack_of(&mut self, numbers: Vec<u32>) -> u32 {
        if let Some(&number) = self.stack_numbers.get(&numbers) {
            return number;
        }
        let number = self.stacks.len() as u32;
        self.stacks.push(numbers.clone());
        self.stack_numbers.insert(numbers, number);
        number
    }

    /// Returns the number of a frame.
    pub fn frame(&mut self, frame: FrameLabel) -> u32 {
        if let Some(&number) = self.frame_numbers.get(&frame) {
            return number;
        }
        let number = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.frame_numbers.insert(frame, number);
        number
    }

    /// Returns the number of looks that saw a stack.
    pub fn samples(&self) -> u64 {
        let counts = self.observations.iter().map(|it| u64::from(it.count));
        counts.sum()
    }

    /// Returns the number of looks that saw a process on a core.
    pub fn running(&self) -> u64 {
        let running = self.observations.iter().filter(|it| it.is_running);
        running.map(|it| u64::from(it.count)).sum()
    }

    /// Returns for each stack the number of observations on a core, and of all observations.
    pub fn weights(&self) -> HashMap<u32, (u64, u64)> {
        let mut weights: HashMap<u32, (u64, u64)> = HashMap::new();
        for seen in &self.observations {
            let weight = weights.entry(seen.stack).or_default();
            let count = u64::from(seen.count);
            weight.0 += if seen.is_running { count } else { 0 };
            weight.1 += count;
        }
        weights
    }

    /// Returns the seconds of wall clock time for which one observation stands.
    pub fn wall_weight(&self) -> f64 {
        self.facts.present_seconds / self.facts.looks.max(1) as f64
    }

    /// Returns the seconds of processor time for which one observation of a running process stands.
    /// Looks at excluded requests stand for a part of the time too.
    pub fn cpu_weight(&self) -> f64 {
        let running = self.running() + self.facts.other_running;
        match running {
            0 => 0.0,
            running => self.facts.cpu_seconds / running as f64,
        }
    }
}
