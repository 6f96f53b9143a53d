//! Keeps the samples of the last day in a folder of bounded size.
//!
//! The folder holds segments, each a file of profiles ([`crate::kept`]). The newest segment grows
//! until it has its part of the limit or is 90 minutes old; then the next begins, and the oldest
//! are removed. A writer never continues a segment of another process, so a torn end harms nothing.

use crate::kept::{read, PartEncoder};
use crate::profile::Profile;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long samples are kept.
pub const KEPT: Duration = Duration::from_secs(24 * 3600);
/// The longest time for which a segment grows.
const LONGEST: Duration = Duration::from_secs(90 * 60);
/// The part of the limit that one segment may have.
const SEGMENTS: u64 = 16;
/// The most files in the folder: a server that starts again and again makes small segments.
const MOST_FILES: usize = 1000;
/// Equal looks of one second are kept as one observation.
const STEP: Duration = Duration::from_secs(1);
const END: &str = ".profile";

/// The writer of a folder.
pub struct SampleRing {
    folder: PathBuf,
    limit: u64,
    newest: Option<Segment>,
}

struct Segment {
    file: File,
    encoder: PartEncoder,
    size: u64,
    /// Microseconds since 1970.
    begin: u64,
}

impl SampleRing {
    /// `limit`: the most bytes of all segments together.
    pub fn new(folder: PathBuf, limit: u64) -> SampleRing {
        SampleRing {
            folder,
            limit,
            newest: None,
        }
    }

    /// Writes a part, and removes the segments that are too old or too many.
    ///
    /// # Errors
    /// The part could not be written. No piece of it stays in the folder.
    pub fn keep(&mut self, part: &Profile) -> io::Result<()> {
        let is_full = |it: &Segment| {
            it.size >= self.limit / SEGMENTS
                || part.facts.begin.saturating_sub(it.begin) >= LONGEST.as_micros() as u64
        };
        let segment = match self.newest.take().filter(|it| !is_full(it)) {
            Some(segment) => segment,
            None => self.next_segment(part.facts.begin)?,
        };
        // A segment is given up when a part fails: its encoder has counted the part's frames.
        self.newest = Some(segment.add(part)?);
        Ok(())
    }

    fn next_segment(&self, begin: u64) -> io::Result<Segment> {
        let mut folder = fs::DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.folder)?;
        self.remove_old(begin)?;
        let name = format!("{begin:016}-{}{END}", std::process::id());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        Ok(Segment {
            file: options.open(self.folder.join(name))?,
            encoder: PartEncoder::default(),
            size: 0,
            begin,
        })
    }

    /// Removes the segments that began before the last day, and the oldest until the next segment
    /// has room.
    fn remove_old(&self, now: u64) -> io::Result<()> {
        let segments = segments(&self.folder)?;
        let sizes = segments
            .iter()
            .map(|it| fs::metadata(&it.1).map_or(0, |it| it.len()));
        let mut sum: u64 = sizes.clone().sum();
        let room = self.limit - self.limit / SEGMENTS;
        let mut count = segments.len();
        for ((begin, path), size) in segments.iter().zip(sizes.collect::<Vec<_>>()) {
            let is_old = begin + (KEPT + LONGEST).as_micros() as u64 <= now;
            if !is_old && sum <= room && count < MOST_FILES {
                break;
            }
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => (sum, count) = (sum - size, count - 1),
            }
        }
        Ok(())
    }
}

impl Segment {
    fn add(mut self, part: &Profile) -> io::Result<Segment> {
        let bytes = self.encoder.encode(part, STEP)?;
        if let Err(error) = self.file.write_all(&bytes) {
            let _ = self.file.set_len(self.size);
            return Err(error);
        }
        self.size += bytes.len() as u64;
        Ok(self)
    }
}

/// Returns the segments of a folder with the times of their begins, the oldest first.
fn segments(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut segments = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let begin = name
            .strip_suffix(END)
            .and_then(|name| name.split_once('-'))
            .and_then(|(begin, _)| begin.parse().ok());
        segments.extend(begin.map(|begin| (begin, path.clone())));
    }
    segments.sort();
    Ok(segments)
}

/// Returns the samples of a folder between two times, in microseconds since 1970. A part of the
/// ring that lies in both is taken whole.
///
/// # Errors
/// The folder or a segment cannot be read. A damaged segment counts up to its damage.
pub fn kept_between(folder: &Path, from: u64, to: u64) -> io::Result<Profile> {
    let mut profile = Profile::default();
    for (begin, path) in segments(folder)? {
        let is_near = begin < to && begin + (KEPT + LONGEST).as_micros() as u64 > from;
        if !is_near {
            continue;
        }
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let _damaged_end = read(
            &bytes,
            &|facts| facts.begin < to && facts.begin + (facts.seconds * 1e6).max(1.0) as u64 > from,
            &mut profile,
        );
    }
    Ok(profile)
}

/// Returns when the oldest segment of a folder began, in microseconds since 1970.
///
/// # Errors
/// The folder cannot be read.
pub fn kept_since(folder: &Path) -> io::Result<Option<u64>> {
    Ok(segments(folder)?.first().map(|it| it.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{FrameKind, FrameLabel, Observation};

    const SECOND: u64 = 1_000_000;

    /// A part of ten seconds in which `subs` subs ran.
    fn part(begin: u64, subs: u64) -> Profile {
        let mut profile = Profile::default();
        for number in 0..subs {
            let stack = profile.stack(vec![FrameLabel {
                name: format!("main::sub_{}", begin.wrapping_mul(31) ^ number << 7),
                file: "a.pl".into(),
                line: 1,
                kind: FrameKind::Perl,
            }]);
            profile.observations.push(Observation {
                at: 0,
                pid: 1,
                stack,
                is_running: true,
                count: 1,
            });
        }
        profile.facts.begin = begin;
        profile.facts.seconds = 10.0;
        profile.facts.looks = subs;
        profile
    }

    fn size(folder: &Path) -> u64 {
        let files = fs::read_dir(folder).expect("a folder").flatten();
        files
            .map(|file| file.metadata().map_or(0, |it| it.len()))
            .sum()
    }

    #[test]
    fn folder_stays_below_its_limit_and_keeps_the_newest() {
        let folder = tempfile::tempdir().expect("a folder");
        let limit = 64 * 1024;
        let mut ring = SampleRing::new(folder.path().into(), limit);
        for number in 0..400 {
            ring.keep(&part(number * 10 * SECOND, 40)).expect("room");
            assert!(size(folder.path()) <= limit + 4096);
        }
        let last = kept_between(folder.path(), 3_990 * SECOND, 4_000 * SECOND).expect("a folder");
        assert_eq!(last.samples(), 40);
        let first = kept_between(folder.path(), 0, 10 * SECOND).expect("a folder");
        assert_eq!(first.samples(), 0);
    }

    #[test]
    fn samples_older_than_a_day_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ring = SampleRing::new(folder.path().into(), 1 << 20);
        let hour = 3600 * SECOND;
        for number in 0..50 {
            ring.keep(&part(number * hour, 1)).expect("room");
        }
        let count = |from, to| kept_between(folder.path(), from, to).map(|it| it.samples());
        assert_eq!(count(0, 20 * hour).ok(), Some(0));
        assert_eq!(count(26 * hour, 50 * hour).ok(), Some(24));
    }

    #[test]
    fn torn_segment_and_a_second_writer_lose_one_part_at_most() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut ring = SampleRing::new(folder.path().into(), 1 << 20);
        ring.keep(&part(0, 1)).expect("room");
        ring.keep(&part(10 * SECOND, 2)).expect("room");
        let (_, path) = segments(folder.path()).expect("a folder").remove(0);
        let length = fs::metadata(&path).expect("a file").len();
        let file = OpenOptions::new().write(true).open(&path).expect("a file");
        file.set_len(length - 3).expect("a file");
        let mut next = SampleRing::new(folder.path().into(), 1 << 20);
        next.keep(&part(20 * SECOND, 4)).expect("room");
        let all = kept_between(folder.path(), 0, u64::MAX).expect("a folder");
        assert_eq!(all.samples(), 5);
    }
}
