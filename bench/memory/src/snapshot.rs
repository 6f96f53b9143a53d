//! Copies the writable memory of a process at once, so that a look at perl's values sees one
//! moment. The process is not stopped. If it ran meanwhile, the copy is made again.

use crate::error::MemoryError;
use mehari_profile::memory::{int, word, ProcessMemory};
use std::fs;
use std::time::{Duration, Instant};

/// The memory of one moment.
pub struct Snapshot {
    regions: Vec<(u64, Vec<u8>)>,
    /// Whether the process ran while its memory was copied.
    pub is_torn: bool,
}

/// The longest wait for a moment in which the process does not run.
const PATIENCE: Duration = Duration::from_secs(3);
/// A process with more writable memory than this is not copied.
const MOST_BYTES: u64 = 4 << 30;

impl Snapshot {
    /// Copies the memory.
    ///
    /// # Errors
    /// The process has gone, belongs to another user, or is too large.
    pub fn of(pid: u32) -> Result<Snapshot, MemoryError> {
        let begun = Instant::now();
        loop {
            let before = time_on_core(pid);
            let regions = copy(pid)?;
            let is_torn = before.is_none() || before != time_on_core(pid);
            if !is_torn || begun.elapsed() > PATIENCE {
                return Ok(Snapshot { regions, is_torn });
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns the start and the bytes of each copied region.
    pub fn regions(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.regions
            .iter()
            .map(|(start, bytes)| (*start, &bytes[..]))
    }

    /// Returns the bytes at an address. `None`: they were not copied.
    pub fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        let after = self.regions.partition_point(|region| region.0 <= address);
        let (start, bytes) = self.regions.get(after.checked_sub(1)?)?;
        let from = usize::try_from(address - start).ok()?;
        bytes.get(from..from.checked_add(length)?)
    }

    /// Returns the eight bytes at an address as a number. 0: they were not copied.
    pub fn number(&self, address: u64) -> u64 {
        self.bytes(address, 8).map_or(0, |bytes| word(bytes, 0))
    }

    /// Returns the four bytes at an address as a number. 0: they were not copied.
    pub fn int(&self, address: u64) -> u32 {
        self.bytes(address, 4)
            .map_or(0, |bytes| int(bytes, 0) as u32)
    }

    /// Returns a text that a zero byte ends.
    pub fn text(&self, address: u64, most: usize) -> String {
        let region = self.regions.partition_point(|region| region.0 <= address);
        let text = region.checked_sub(1).and_then(|region| {
            let (start, bytes) = &self.regions[region];
            bytes.get(usize::try_from(address - start).ok()?..)
        });
        let text = text.unwrap_or_default();
        let text = &text[..text.len().min(most)];
        let end = text.iter().position(|&byte| byte == 0);
        String::from_utf8_lossy(&text[..end.unwrap_or(text.len())]).into_owned()
    }
}

/// Returns the time that the process has run, as the kernel counts it, and its switches. Both stay
/// the same while the process rests.
fn time_on_core(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()
}

fn copy(pid: u32) -> Result<Vec<(u64, Vec<u8>)>, MemoryError> {
    let gone = |_| MemoryError::Gone(pid);
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(gone)?;
    let ranges: Vec<(u64, u64)> = maps.lines().filter_map(writable).collect();
    let all: u64 = ranges.iter().map(|(start, end)| end - start).sum();
    if all > MOST_BYTES {
        return Err(MemoryError::TooLarge { pid, bytes: all });
    }
    let memory = ProcessMemory::of(pid);
    let mut regions = Vec::new();
    for (start, end) in ranges {
        let mut bytes = vec![0; (end - start) as usize];
        match memory.read(start, &mut bytes) {
            Ok(()) => regions.push((start, bytes)),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                return Err(MemoryError::Forbidden(pid));
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {
                return Err(MemoryError::Gone(pid));
            }
            Err(_) => {} // unmapped meanwhile, or pages beyond the end of a file
        }
    }
    regions.sort_by_key(|region| region.0);
    Ok(regions)
}

/// Reads a line of maps. `None`: the process does not write there, or shares what it writes.
fn writable(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_ascii_whitespace();
    let (range, rights) = (words.next()?, words.next()?);
    let (start, end) = range.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    (rights.as_bytes().get(1) == Some(&b'w') && rights.ends_with('p'))
        .then(|| Some((number(start)?, number(end)?)))?
}
