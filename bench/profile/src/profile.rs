//! What a sampling saw: frames, stacks of frames, and one observation for each look.

use std::collections::HashMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FrameKind {
    Perl,
    Xs,
    /// perl's regex engine.
    Regex,
    /// A builtin that calls the kernel.
    SystemCall,
    Builtin,
    /// For what the process waits.
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

    /// The word in reports.
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FrameLabel {
    pub name: String,
    /// Empty: no file of Perl.
    pub file: String,
    pub line: u32,
    pub kind: FrameKind,
}

/// One look at one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    /// Microseconds since the start.
    pub at: u64,
    pub pid: u32,
    /// Index into [`Profile::stacks`].
    pub stack: u32,
    /// Whether the process was on a core; else it waited, perhaps for a core.
    pub is_running: bool,
}

/// The figures about the sampling itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SamplingFacts {
    /// As `perl 5.36.0`; several if there were several.
    pub perls: Vec<String>,
    pub processes: usize,
    /// Seconds from the first look to the last.
    pub seconds: f64,
    /// Looks a second at each process, as asked for.
    pub rate: f64,
    /// All looks, of which each process got one for an equal part of its time.
    pub looks: u64,
    /// Seconds for which the processes were there, added up.
    pub present_seconds: f64,
    /// Looks at a worker that had no request.
    pub idle: u64,
    /// Looks at requests that were not asked for.
    pub other: u64,
    /// How many of these were of a process on a core.
    pub other_running: u64,
    /// Looks that were given up, because the stack changed during each try.
    pub torn: u64,
    /// Looks whose names had gone before they were read.
    pub unnamed: u64,
    /// Processes that ended.
    pub ended: u64,
    /// Seconds of processor time of all processes, as the kernel counts.
    pub cpu_seconds: f64,
    /// Seconds for which they waited for a core.
    pub queue_seconds: f64,
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
    /// The number of a stack, whose frames come the outermost first.
    pub fn stack(&mut self, frames: Vec<FrameLabel>) -> u32 {
        let numbers: Vec<u32> = frames.into_iter().map(|frame| self.frame(frame)).collect();
        if let Some(&number) = self.stack_numbers.get(&numbers) {
            return number;
        }
        let number = self.stacks.len() as u32;
        self.stacks.push(numbers.clone());
        self.stack_numbers.insert(numbers, number);
        number
    }

    fn frame(&mut self, frame: FrameLabel) -> u32 {
        if let Some(&number) = self.frame_numbers.get(&frame) {
            return number;
        }
        let number = self.frames.len() as u32;
        self.frames.push(frame.clone());
        self.frame_numbers.insert(frame, number);
        number
    }

    pub fn running(&self) -> usize {
        self.observations.iter().filter(|it| it.is_running).count()
    }

    /// For each stack the observations on a core, and all observations.
    pub fn weights(&self) -> HashMap<u32, (u64, u64)> {
        let mut weights: HashMap<u32, (u64, u64)> = HashMap::new();
        for seen in &self.observations {
            let weight = weights.entry(seen.stack).or_default();
            weight.0 += u64::from(seen.is_running);
            weight.1 += 1;
        }
        weights
    }

    /// Seconds of wall clock time that one observation stands for.
    pub fn wall_weight(&self) -> f64 {
        self.facts.present_seconds / self.facts.looks.max(1) as f64
    }

    /// Seconds of processor time that one observation of a running process stands for. Looks at
    /// other requests have their part of the time, too.
    pub fn cpu_weight(&self) -> f64 {
        let running = self.running() as u64 + self.facts.other_running;
        match running {
            0 => 0.0,
            running => self.facts.cpu_seconds / running as f64,
        }
    }
}
