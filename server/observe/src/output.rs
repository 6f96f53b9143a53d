//! Writes bytes completely to blocking and non-blocking descriptors. The logs' files and the pipes
//! to programs use this function.

use std::io::{self, Write};
use std::time::Duration;

/// Writes all of `bytes`.
///
/// # Errors
///
/// The number of bytes written, and the error that stopped the writing.
pub(crate) fn write_whole(to: &mut impl Write, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut done = 0;
    while done < bytes.len() {
        match to.write(&bytes[done..]) {
            Ok(0) => return Err((done, io::ErrorKind::WriteZero.into())),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The parent process may have made stderr non-blocking. The writer's thread can wait.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err((done, error)),
        }
    }
    Ok(())
}
