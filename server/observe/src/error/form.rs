//! The form of the error log's lines: full in a file, short and coloured on a terminal.

use super::{word, Origin};
use crate::clock::{Clock, Style};
use crate::escape;
use crate::terminal::{self, Colour, Terminal};
use mehari_config::{LogLevel, LogTarget};
use std::io::Write;

#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// The form of a file, a pipe or a program. `own` is this process.
    File {
        own: u32,
    },
    Terminal(Terminal),
}

impl Form {
    pub fn of(target: &LogTarget) -> Form {
        match target {
            LogTarget::Stderr if terminal::is_used() => {
                Form::Terminal(Terminal::from_environment())
            }
            _ => Form::File {
                own: std::process::id(),
            },
        }
    }

    pub fn clock(self) -> Clock {
        Clock::new(match self {
            Form::File { .. } => Style::ErrorLog,
            Form::Terminal(_) => Style::Terminal,
        })
    }

    /// Appends who asked for what. On a terminal the access line says that.
    pub fn asked(self, line: &mut Vec<u8>, asked: &str) {
        if let (Form::File { .. }, false) = (self, asked.is_empty()) {
            line.push(b'[');
            escape::message(line, asked.as_bytes());
            line.extend_from_slice(b"] ");
        }
    }

    /// Appends all that stands before the message.
    pub fn prefix(self, line: &mut Vec<u8>, time: &[u8], level: LogLevel, origin: Origin) {
        match self {
            Form::File { own } => full_prefix(line, time, level, origin, own),
            Form::Terminal(terminal) => short_prefix(line, time, level, origin, terminal),
        }
    }
}

/// Appends `20:25:01.123 error #4711 `.
fn short_prefix(
    line: &mut Vec<u8>,
    time: &[u8],
    level: LogLevel,
    origin: Origin,
    terminal: Terminal,
) {
    let colour = match level {
        LogLevel::Emerg | LogLevel::Alert | LogLevel::Crit | LogLevel::Error => Colour::Red,
        LogLevel::Warn => Colour::Yellow,
        LogLevel::Notice | LogLevel::Info | LogLevel::Debug => Colour::Cyan,
    };
    terminal.paint(line, Colour::Dim, |line| line.extend_from_slice(time));
    line.push(b' ');
    terminal.paint(line, colour, |line| {
        line.extend_from_slice(word(level).as_bytes());
    });
    line.push(b' ');
    if let Some(number) = origin.request {
        terminal.number(line, number);
        line.push(b' ');
    }
}

/// Appends `[Sat Nov 21 20:25:01.123456 2026] [error] [pid 123] [req 4711] [worker 124]
/// [client 192.0.2.7] `.
fn full_prefix(line: &mut Vec<u8>, time: &[u8], level: LogLevel, origin: Origin, own: u32) {
    line.push(b'[');
    line.extend_from_slice(time);
    line.extend_from_slice(b"] [");
    line.extend_from_slice(word(level).as_bytes());
    line.push(b']');
    let numbers = [
        ("pid", Some(u64::from(origin.pid.unwrap_or(own)))),
        ("req", origin.request),
        ("worker", origin.worker.map(u64::from)),
    ];
    for (name, number) in numbers {
        let Some(number) = number else { continue };
        line.extend_from_slice(b" [");
        line.extend_from_slice(name.as_bytes());
        line.push(b' ');
        escape::decimal(line, number);
        line.push(b']');
    }
    if let Some(client) = origin.client {
        // Writing to memory cannot fail.
        let _ = write!(line, " [client {client}]");
    }
    line.push(b' ');
}
