//! Reads another process's memory without stopping it.
//!
//! process_vm_readv(2) reads many places in one call. On Linux 5.19 and newer it has a price: the
//! kernel first copies a page for the process that the process shares with the one that forked it.
//! Only memory that the process writes itself is read in this way, such as perl's stack. Other
//! memory is read from `/proc/PID/mem`, which leaves shared pages shared.
#![allow(unsafe_code)] // process_vm_readv(2)

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

/// A process whose memory is read. Addresses are those of the process. A wrong address returns an
/// error and harms neither process.
#[derive(Debug, Clone)]
pub struct ProcessMemory {
    pid: u32,
    /// `/proc/PID/mem`. `None`: it cannot be opened.
    file: OnceLock<Option<Arc<File>>>,
}

/// The most parts that one call of the kernel takes.
const MOST_PARTS: usize = 1024;

/// The lowest address that can be mapped. Reading below it fails without a system call.
const LOWEST: u64 = 4096;
/// The highest offset of a file.
const LARGEST: u64 = i64::MAX as u64;
/// The size of a small page, or a part of a larger one.
const PAGE: u64 = 4096;

impl ProcessMemory {
    pub fn of(pid: u32) -> ProcessMemory {
        ProcessMemory {
            pid,
            file: OnceLock::new(),
        }
    }

    /// Fills `into` from `address`. Shared pages stay shared.
    ///
    /// # Errors
    /// The kernel's error: the process has gone or is another user's, or the address is wrong.
    pub fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let open = || File::open(format!("/proc/{}/mem", self.pid));
        let file = self.file.get_or_init(|| open().ok().map(Arc::new));
        let Some(file) = file else {
            return open().map(drop);
        };
        if !(LOWEST..=LARGEST).contains(&address) {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        match file.read_at(into, address) {
            Ok(read) if read == into.len() => Ok(()),
            Ok(0) => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
            Err(error) if error.raw_os_error() == Some(libc::EIO) => {
                Err(io::Error::from_raw_os_error(libc::EFAULT))
            }
            Err(error) => Err(error),
        }
    }

    /// Fills `into` from the parts (address and length), one after the other in this order. Shared
    /// pages stay shared. Parts of one page are read together.
    ///
    /// # Errors
    /// The kernel's error: the process has gone or is another user's, or the address is wrong.
    pub fn read_scattered(&self, parts: &[(u64, usize)], into: &mut [u8]) -> io::Result<()> {
        let mut places = Vec::new();
        let mut at = 0;
        for &(address, length) in parts {
            places.push((address, length, at));
            at += length;
        }
        if at != into.len() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        places.sort_unstable();
        let mut rest = &places[..];
        while let Some(&(start, _, _)) = rest.first() {
            let page_end = (start | (PAGE - 1)).saturating_add(1);
            let ends = |place: &(u64, usize, usize)| place.0.saturating_add(place.1 as u64);
            let count = rest
                .iter()
                .take_while(|it| ends(it) <= page_end)
                .count()
                .max(1);
            let (together, after) = rest.split_at(count);
            let end = together.iter().map(ends).max().unwrap_or(start);
            let mut bytes = vec![0; (end - start) as usize];
            self.read(start, &mut bytes)?;
            for &(address, length, at) in together {
                let from = (address - start) as usize;
                into[at..at + length].copy_from_slice(&bytes[from..from + length]);
            }
            rest = after;
        }
        Ok(())
    }

    /// Fills `into` from the parts (address and length), one after the other in this order, in one
    /// call of the kernel. Shared pages are copied for the process.
    ///
    /// # Errors
    /// The kernel's error: the process has gone or is another user's, or the address is wrong.
    pub fn read_parts(&self, parts: &[(u64, usize)], into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        for some in parts.chunks(MOST_PARTS) {
            let length: usize = some.iter().map(|part| part.1).sum();
            let room = into.get_mut(done..done + length);
            let room = room.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
            self.read_some(some, room)?;
            done += length;
        }
        Ok(())
    }

    /// Reads eight bytes as a number.
    ///
    /// # Errors
    /// The kernel's error: the process has gone or is another user's, or the address is wrong.
    pub fn number(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Reads a text that a zero byte ends, at most `most` bytes of it.
    ///
    /// # Errors
    /// The kernel's error: the process has gone or is another user's, or the address is wrong.
    pub fn text(&self, address: u64, most: usize) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < most {
            // A piece ends at a multiple of its size, so it never reaches into an unmapped page.
            let at = address.saturating_add(text.len() as u64);
            let mut piece = [0; 64];
            let piece = &mut piece[..64 - (at % 64) as usize];
            self.read(at, piece)?;
            if let Some(end) = piece.iter().position(|&byte| byte == 0) {
                text.extend_from_slice(&piece[..end]);
                return Ok(text);
            }
            text.extend_from_slice(piece);
        }
        text.truncate(most);
        Ok(text)
    }

    fn read_some(&self, parts: &[(u64, usize)], into: &mut [u8]) -> io::Result<()> {
        if parts.iter().any(|part| part.0 < LOWEST) {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        let length = into.len();
        let here = libc::iovec {
            iov_base: into.as_mut_ptr().cast(),
            iov_len: length,
        };
        let there: Vec<libc::iovec> = parts
            .iter()
            .map(|part| libc::iovec {
                iov_base: part.0 as *mut libc::c_void,
                iov_len: part.1,
            })
            .collect();
        let pid = self.pid as libc::pid_t;
        // SAFETY: `here` describes `into`, which lives through the call and is only written up to
        // its length. The kernel checks the addresses of the other process.
        let read = unsafe {
            libc::process_vm_readv(
                pid,
                &here,
                1,
                there.as_ptr(),
                there.len() as libc::c_ulong,
                0,
            )
        };
        match usize::try_from(read) {
            Ok(read) if read == length => Ok(()),
            Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
            Err(_) => Err(io::Error::last_os_error()),
        }
    }
}

/// Returns the eight bytes at an offset as a number. 0: the bytes lie outside.
pub fn word(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes
        .get(at..at + 8)
        .and_then(|eight| eight.try_into().ok());
    eight.map_or(0, u64::from_ne_bytes)
}

/// Returns the four bytes at an offset as a number. 0: the bytes lie outside.
pub fn int(bytes: &[u8], at: usize) -> i32 {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map_or(0, i32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_to_its_end_across_pieces() {
        let mut bytes = [b'x'; 200];
        bytes[150] = 0;
        let memory = ProcessMemory::of(std::process::id());
        let text = memory
            .text(bytes.as_ptr() as u64, 1000)
            .expect("own memory");
        assert_eq!(text, &bytes[..150]);
        let cut = memory.text(bytes.as_ptr() as u64, 70).expect("own memory");
        assert_eq!(cut.len(), 70);
    }

    #[test]
    fn scattered_parts_come_in_the_order_of_the_question() {
        let bytes: Vec<u8> = (0..20_000).map(|it| (it % 251) as u8).collect();
        let base = bytes.as_ptr() as u64;
        let asked = [(9_000, 10), (5, 3), (4_090, 5_000), (8, 2), (5, 3)];
        let parts = asked.map(|(at, length)| (base + at as u64, length));
        let mut read = vec![0; asked.iter().map(|it| it.1).sum()];
        let memory = ProcessMemory::of(std::process::id());
        memory
            .read_scattered(&parts, &mut read)
            .expect("own memory");
        let expected = asked.map(|(at, length)| &bytes[at..at + length]).concat();
        assert_eq!(read, expected);
        assert!(memory.read_scattered(&parts, &mut [0; 5]).is_err());
    }

    #[test]
    fn false_address_is_an_error() {
        let memory = ProcessMemory::of(std::process::id());
        assert!(memory.number(8).is_err());
        assert!(memory.number(u64::MAX - 3).is_err());
    }
}
