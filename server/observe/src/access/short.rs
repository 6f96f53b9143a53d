//! Writes lines for a person at a terminal: `20:25:01.123 200 GET /path 1.204 ms #4711`.

use super::AccessEntry;
use crate::escape::{decimal, log_item, padded, status};
use crate::terminal::{Colour, Terminal};

/// Appends the line. `time` is the time of day.
pub fn write(line: &mut Vec<u8>, entry: &AccessEntry<'_>, time: &[u8], terminal: Terminal) {
    let colour = match entry.status {
        500.. => Colour::Red,
        400.. => Colour::Yellow,
        300.. => Colour::Cyan,
        _ => Colour::Green,
    };
    terminal.paint(line, Colour::Dim, |line| line.extend_from_slice(time));
    line.push(b' ');
    terminal.paint(line, colour, |line| status(line, entry.status));
    line.push(b' ');
    match entry.method {
        b"" => line.push(b'-'),
        method => {
            log_item(line, method);
            line.push(b' ');
            log_item(line, entry.target);
        }
    }
    line.push(b' ');
    decimal(line, entry.total_us / 1000);
    line.push(b'.');
    padded(line, (entry.total_us % 1000) as u32, 3);
    line.extend_from_slice(b" ms ");
    terminal.number(line, entry.request_id);
    line.push(b'\n');
}
