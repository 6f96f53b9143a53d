//! Keeps profiles in files: `mehari profile -o FILE.profile`, and the segments of `ProfileAlways`.
//!
//! A file is a sequence of parts. Each part is a gzip member with one line of JSON, so `zcat` shows
//! a file. A part holds only the frames and stacks that no earlier part of the file has. A reader
//! takes the parts before a torn or damaged part.

use crate::profile::{FrameLabel, Observation, Profile, SamplingFacts};
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use flate2::Compression;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::time::Duration;

/// The number of the format. A reader refuses other numbers.
const FORMAT: u32 = 1;
/// The most bytes of a part after decompression.
const LARGEST_PART: u64 = 1 << 30;

#[derive(Serialize, Deserialize)]
struct KeptPart {
    format: u32,
    facts: SamplingFacts,
    frames: Vec<FrameLabel>,
    stacks: Vec<Vec<u32>>,
    /// Microseconds since the part's begin, process, stack, whether on a core, number of looks.
    seen: Vec<(u64, u32, u32, bool, u32)>,
}

/// Makes the parts of one file.
#[derive(Default)]
pub struct PartEncoder {
    /// The frames and stacks that the file has.
    known: Profile,
}

impl PartEncoder {
    /// Returns the bytes of the next part. Looks of one `step` that saw the same become one
    /// observation; a step of zero keeps each look.
    ///
    /// # Errors
    /// The part cannot be compressed.
    pub fn encode(&mut self, profile: &Profile, step: Duration) -> io::Result<Vec<u8>> {
        let (frames, stacks) = (self.known.frames.len(), self.known.stacks.len());
        let seen = self.merged(profile, step.as_micros() as u64);
        let part = KeptPart {
            format: FORMAT,
            facts: profile.facts.clone(),
            frames: self.known.frames[frames..].to_vec(),
            stacks: self.known.stacks[stacks..].to_vec(),
            seen,
        };
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        serde_json::to_writer(&mut encoder, &part)?;
        encoder.write_all(b"\n")?;
        encoder.finish()
    }

    fn merged(&mut self, profile: &Profile, step: u64) -> Vec<(u64, u32, u32, bool, u32)> {
        let mut seen: Vec<(u64, u32, u32, bool, u32)> = Vec::new();
        let mut places = HashMap::new();
        let mut stacks = vec![None; profile.stacks.len()];
        for one in &profile.observations {
            let stack = *stacks[one.stack as usize].get_or_insert_with(|| {
                let frames = profile.stacks[one.stack as usize].iter();
                let frames = frames.map(|&frame| profile.frames[frame as usize].clone());
                self.known.stack(frames.collect())
            });
            let at = one
                .at
                .checked_div(step)
                .map_or(one.at, |steps| steps * step);
            let key = (at, one.pid, stack, one.is_running);
            let place = *places.entry(key).or_insert(seen.len());
            match seen.get_mut(place).filter(|_| step > 0) {
                Some(known) => known.4 += one.count,
                None => seen.push((at, one.pid, stack, one.is_running, one.count)),
            }
        }
        seen
    }
}

/// Why a file of profiles cannot be read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The file is no profile from its first byte on, or of another version.
    NoProfile,
    /// The parts before this byte were read.
    From(usize),
}

/// Adds the parts of a file to a profile.
///
/// `bytes`: the file. `is_wanted` chooses parts by their facts.
///
/// # Errors
/// The file is damaged. The parts before the damage have been added.
pub fn read(
    bytes: &[u8],
    is_wanted: &dyn Fn(&SamplingFacts) -> bool,
    into: &mut Profile,
) -> Result<(), Damage> {
    let mut rest = bytes;
    let mut file = ReadFile::default();
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        let damage = match at {
            0 => Damage::NoProfile,
            at => Damage::From(at),
        };
        let (part, after) = decode(rest).ok_or(damage)?;
        file.learn(&part).ok_or(damage)?;
        if is_wanted(&part.facts) {
            file.add(&part, into);
        }
        rest = after;
    }
    match bytes {
        [] => Err(Damage::NoProfile),
        _ => Ok(()),
    }
}

fn decode(bytes: &[u8]) -> Option<(KeptPart, &[u8])> {
    let mut decoder = GzDecoder::new(bytes);
    let mut text = Vec::new();
    let length = decoder
        .by_ref()
        .take(LARGEST_PART)
        .read_to_end(&mut text)
        .ok()?;
    if length as u64 == LARGEST_PART {
        return None;
    }
    let part: KeptPart = serde_json::from_slice(&text).ok()?;
    (part.format == FORMAT).then(|| (part, decoder.into_inner()))
}

/// The frames and stacks of a file so far.
#[derive(Default)]
struct ReadFile {
    frames: Vec<FrameLabel>,
    stacks: Vec<Vec<u32>>,
    /// The numbers of the file's stacks in the profile.
    numbers: HashMap<u32, u32>,
}

impl ReadFile {
    /// Takes the part's frames and stacks. `None`: a number has no frame or stack.
    fn learn(&mut self, part: &KeptPart) -> Option<()> {
        self.frames.extend_from_slice(&part.frames);
        self.stacks.extend_from_slice(&part.stacks);
        let mut frames = part.stacks.iter().flatten();
        let has_frames = frames.all(|&frame| (frame as usize) < self.frames.len());
        let mut seen = part.seen.iter();
        let has_stacks = seen.all(|seen| (seen.2 as usize) < self.stacks.len());
        (has_frames && has_stacks).then_some(())
    }

    fn add(&mut self, part: &KeptPart, into: &mut Profile) {
        let begin = match into.facts.looks {
            0 => part.facts.begin,
            _ => into.facts.begin.min(part.facts.begin),
        };
        // The parts of two writers overlap: the times count from the earliest begin.
        let shift = into.facts.begin.saturating_sub(begin);
        for seen in into.observations.iter_mut().filter(|_| shift > 0) {
            seen.at += shift;
        }
        for &(at, pid, stack, is_running, count) in &part.seen {
            let number = *self.numbers.entry(stack).or_insert_with(|| {
                let frames = self.stacks[stack as usize].iter();
                into.stack(
                    frames
                        .map(|&frame| self.frames[frame as usize].clone())
                        .collect(),
                )
            });
            into.observations.push(Observation {
                at: part.facts.begin - begin + at,
                pid,
                stack: number,
                is_running,
                count,
            });
        }
        into.facts.add(&part.facts);
    }
}

impl SamplingFacts {
    /// Adds the facts of another part.
    fn add(&mut self, other: &SamplingFacts) {
        self.begin = match self.looks {
            0 => other.begin,
            _ => self.begin.min(other.begin),
        };
        for perl in &other.perls {
            if !self.perls.contains(perl) {
                self.perls.push(perl.clone());
            }
        }
        self.processes = self.processes.max(other.processes);
        self.rate = other.rate;
        self.seconds += other.seconds;
        self.looks += other.looks;
        self.present_seconds += other.present_seconds;
        self.idle += other.idle;
        self.at_rest += other.at_rest;
        self.other += other.other;
        self.other_running += other.other_running;
        self.torn += other.torn;
        self.unnamed += other.unnamed;
        self.ended += other.ended;
        self.cpu_seconds += other.cpu_seconds;
        self.queue_seconds += other.queue_seconds;
        self.refused = other.refused.clone().or(self.refused.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::FrameKind;

    fn part(begin: u64, subs: &[&str]) -> Profile {
        let mut profile = Profile::default();
        for (at, sub) in (0..).zip(subs) {
            let frame = FrameLabel {
                name: (*sub).to_owned(),
                file: "a.pl".to_owned(),
                line: 3,
                kind: FrameKind::Perl,
            };
            let stack = profile.stack(vec![frame]);
            profile.observations.push(Observation {
                at: at * 1000,
                pid: 7,
                stack,
                is_running: true,
                count: 1,
            });
        }
        profile.facts.begin = begin;
        profile.facts.looks = subs.len() as u64;
        profile.facts.cpu_seconds = 0.5;
        profile
    }

    fn names(profile: &Profile) -> Vec<(String, u64, u32)> {
        let seen = profile.observations.iter();
        seen.map(|it| {
            let frame = profile.stacks[it.stack as usize][0];
            let name = profile.frames[frame as usize].name.clone();
            (name, it.at, it.count)
        })
        .collect()
    }

    #[test]
    fn parts_come_back_whole_and_a_torn_one_loses_only_itself() {
        let mut encoder = PartEncoder::default();
        let first = encoder
            .encode(&part(1_000_000, &["a", "b"]), Duration::ZERO)
            .expect("memory");
        let second = encoder
            .encode(&part(2_000_000, &["b", "c", "b"]), Duration::from_secs(1))
            .expect("memory");
        let file = [first.clone(), second.clone()].concat();
        for end in first.len()..=file.len() {
            let mut profile = Profile::default();
            let read = read(&file[..end], &|_| true, &mut profile);
            let mut expected = vec![("a".to_owned(), 0, 1), ("b".to_owned(), 1000, 1)];
            if end == file.len() {
                expected.extend([
                    ("b".to_owned(), 1_000_000, 2),
                    ("c".to_owned(), 1_000_000, 1),
                ]);
                assert_eq!((profile.facts.looks, profile.facts.cpu_seconds), (5, 1.0));
            } else if end > first.len() {
                assert_eq!(read, Err(Damage::From(first.len())));
            }
            assert_eq!(names(&profile), expected, "{end}");
        }
    }

    #[test]
    fn parts_are_chosen_by_their_time() {
        let mut encoder = PartEncoder::default();
        let mut file = Vec::new();
        for (begin, sub) in [(1, "a"), (2, "b"), (3, "a")] {
            let bytes = encoder.encode(&part(begin, &[sub]), Duration::ZERO);
            file.extend(bytes.expect("memory"));
        }
        let mut profile = Profile::default();
        read(&file, &|facts| facts.begin > 1, &mut profile).expect("whole");
        let subs: Vec<String> = names(&profile).into_iter().map(|it| it.0).collect();
        assert_eq!(subs, ["b", "a"]);
    }

    #[test]
    fn other_files_and_false_numbers_are_refused() {
        let mut into = Profile::default();
        for bytes in [&b""[..], b"text", &[0x1f, 0x8b, 8, 0]] {
            assert_eq!(read(bytes, &|_| true, &mut into), Err(Damage::NoProfile));
        }
        let false_part = KeptPart {
            format: FORMAT,
            facts: SamplingFacts::default(),
            frames: Vec::new(),
            stacks: vec![vec![0]],
            seen: Vec::new(),
        };
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        serde_json::to_writer(&mut encoder, &false_part).expect("memory");
        let bytes = encoder.finish().expect("memory");
        assert_eq!(read(&bytes, &|_| true, &mut into), Err(Damage::NoProfile));
    }
}
