//! The Firefox Profiler's format: every look at its time, a track for each process.

use crate::profile::{FrameKind, FrameLabel, Profile};
use fxprof_processed_profile::Profile as FirefoxProfile;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, SamplingInterval,
    ThreadHandle, Timestamp,
};
use std::collections::HashMap;
use std::io;
use std::time::SystemTime;

/// Writes the profile. Frames have the names of subs and no lines, which the format's writer
/// lacks for code without libraries.
///
/// # Errors
/// It cannot be written as JSON.
pub fn firefox(profile: &Profile) -> io::Result<Vec<u8>> {
    let interval = SamplingInterval::from_hz(profile.facts.rate.max(0.001) as f32);
    let mut out = FirefoxProfile::new("mehari profile", SystemTime::now().into(), interval);
    let categories = FrameKind::ALL.map(|kind| out.add_category(kind.word(), color(kind)));
    let mut threads: HashMap<u32, (ThreadHandle, u64)> = HashMap::new();
    let cpu_weight = profile.cpu_weight() * 1e6;
    for seen in &profile.observations {
        let at = Timestamp::from_nanos_since_reference(seen.at * 1000);
        let known = threads.entry(seen.pid).or_insert_with(|| {
            let process = out.add_process("perl", seen.pid, at);
            (out.add_thread(process, seen.pid, at, true), seen.at)
        });
        let (thread, before) = *known;
        known.1 = seen.at;
        let frames = profile.stacks[seen.stack as usize].iter();
        let frames: Vec<FrameInfo> = frames
            .map(|&frame| frame_info(&mut out, &profile.frames[frame as usize], &categories))
            .collect();
        let stack = out.intern_stack_frames(thread, frames.into_iter());
        // The processor time since the previous look must not exceed the time since that look.
        let cpu = if seen.is_running {
            (cpu_weight * f64::from(seen.count)) as u64
        } else {
            0
        };
        let cpu = CpuDelta::from_micros(cpu.min(seen.at.saturating_sub(before)));
        let count = i32::try_from(seen.count).unwrap_or(i32::MAX);
        out.add_sample(thread, at, stack, cpu, count);
    }
    serde_json::to_vec(&out).map_err(io::Error::other)
}

fn frame_info(
    out: &mut FirefoxProfile,
    frame: &FrameLabel,
    categories: &[CategoryHandle; FrameKind::ALL.len()],
) -> FrameInfo {
    let category = categories[frame.kind as usize];
    FrameInfo {
        frame: Frame::Label(out.intern_string(&frame.name)),
        category_pair: category.into(),
        flags: FrameFlags::empty(),
    }
}

fn color(kind: FrameKind) -> CategoryColor {
    match kind {
        FrameKind::Perl => CategoryColor::Orange,
        FrameKind::Xs => CategoryColor::Blue,
        FrameKind::Regex => CategoryColor::Purple,
        FrameKind::SystemCall => CategoryColor::Green,
        FrameKind::Builtin => CategoryColor::Yellow,
        FrameKind::Wait => CategoryColor::Gray,
    }
}
