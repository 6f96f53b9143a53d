//! Reads the Perl stack of one process now, with the sampling profiler's reader.

use mehari_profile::{Sampler, SamplingPlan};
use serde::Serialize;
use std::time::Duration;

/// How long a process is looked at. A look may meet a moment in which the stack changes, so there
/// are several.
const TIME: Duration = Duration::from_millis(60);
const RATE: f64 = 100.0;

#[derive(Debug, Serialize)]
pub struct StackNow {
    /// The frames, the innermost first.
    pub frames: Vec<StackFrame>,
    /// The reason why there are no frames. Empty if there are frames.
    pub reason: String,
}

#[derive(Debug, Serialize)]
pub struct StackFrame {
    pub name: String,
    pub file: String,
    pub line: u32,
    pub kind: &'static str,
}

/// Looks at a process for a moment.
pub fn of(pid: u32) -> StackNow {
    let without = |reason: String| StackNow {
        frames: Vec::new(),
        reason,
    };
    let sampler = match Sampler::new(&[pid]) {
        Ok(sampler) => sampler,
        Err(error) => return without(error.to_string()),
    };
    let plan = SamplingPlan {
        duration: TIME,
        rate: RATE,
        ..SamplingPlan::default()
    };
    let profile = sampler.run(&plan, &mut Vec::new, &|| false);
    let Some(last) = profile.observations.last() else {
        let reason = if profile.facts.idle > 0 {
            "the worker waits for a request"
        } else {
            "the process runs no Perl code now"
        };
        return without(reason.to_owned());
    };
    let numbers = &profile.stacks[last.stack as usize];
    let frames = numbers.iter().rev().map(|&number| {
        let frame = &profile.frames[number as usize];
        StackFrame {
            name: frame.name.clone(),
            file: frame.file.clone(),
            line: frame.line,
            kind: frame.kind.word(),
        }
    });
    StackNow {
        frames: frames.collect(),
        reason: String::new(),
    }
}
