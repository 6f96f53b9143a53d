//! Writing bytes to the end, whatever the descriptor is set to. Programs and files are written so.

use std::io::{self, Write};
use std::time::Duration;

/// Writes all of `bytes`.
///
/// # Errors
///
/// How many bytes were written, and why not more.
pub(crate) fn write_whole(to: &mut impl Write, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
    let mut done = 0;
    while done < bytes.len() {
        match to.write(&bytes[done..]) {
            Ok(0) => return Err((done, io::ErrorKind::WriteZero.into())),
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Whoever gave us stderr may have made it non-blocking; the writer's thread has time.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err((done, error)),
        }
    }
    Ok(())
}
