//! Colours the lines of both logs for a person at a terminal.

use crate::escape::decimal;
use std::io::IsTerminal;

/// A colour of ECMA-48.
#[derive(Debug, Clone, Copy)]
pub enum Colour {
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Cyan = 36,
}

/// Whether stderr is a terminal.
pub fn is_used() -> bool {
    std::io::stderr().is_terminal()
}

#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    is_coloured: bool,
}

impl Terminal {
    /// Colours the lines unless `NO_COLOR` is set (no-color.org) or the terminal is `dumb`.
    pub fn from_environment() -> Terminal {
        let is_set = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_none_or(|kind| kind == "dumb");
        Terminal {
            is_coloured: !is_set && !is_dumb,
        }
    }

    /// Appends the number of a request: `#4711`.
    pub fn number(self, line: &mut Vec<u8>, request: u64) {
        self.paint(line, Colour::Dim, |line| {
            line.push(b'#');
            decimal(line, request);
        });
    }

    /// Appends what `write` writes, in a colour.
    pub fn paint(self, line: &mut Vec<u8>, colour: Colour, write: impl FnOnce(&mut Vec<u8>)) {
        if !self.is_coloured {
            return write(line);
        }
        line.extend_from_slice(b"\x1b[");
        decimal(line, colour as u64);
        line.push(b'm');
        write(line);
        line.extend_from_slice(b"\x1b[0m");
    }
}
