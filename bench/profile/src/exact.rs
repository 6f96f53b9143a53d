//! The figures of an exact profile, which Devel::NYTProf has written. The program `exact.pl` reads
//! the file with the profiler's own modules.

use crate::error::ProfileError;
use std::fmt::Write as _;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = include_str!("exact.pl");

/// Subs and lines with their times in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExactProfile {
    pub seconds: f64,
    /// The subs, the one with the most exclusive time first.
    pub subs: Vec<ExactSub>,
    /// The lines, the one with the most time first.
    pub lines: Vec<ExactLine>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExactSub {
    /// The time in the sub itself, and with all that it calls.
    pub exclusive: f64,
    pub inclusive: f64,
    pub calls: u64,
    pub name: String,
    /// Empty: the sub is written in C.
    pub file: String,
    pub line: u32,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExactLine {
    pub seconds: f64,
    /// How many of its statements have run.
    pub statements: u64,
    pub file: String,
    pub line: u32,
}

impl ExactProfile {
    /// Reads a file of Devel::NYTProf with a perl that has the module.
    ///
    /// # Errors
    /// The perl cannot be run, or does not understand the file.
    pub fn read(perl: &Path, file: &Path) -> Result<ExactProfile, ProfileError> {
        let failed = |cause: String| ProfileError::NotExact {
            file: file.display().to_string(),
            cause,
        };
        let output = run(perl, file).map_err(|error| failed(error.to_string()))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            let first = told.lines().next().unwrap_or("perl fails");
            return Err(failed(first.to_owned()));
        }
        let mut profile = ExactProfile::default();
        let said = String::from_utf8_lossy(&output.stdout);
        for line in said.lines() {
            let understood = profile.add(line);
            understood.ok_or_else(|| failed(format!("`{line}` is no line of figures")))?;
        }
        let by_time = |one: f64, other: f64| other.total_cmp(&one);
        profile
            .subs
            .sort_by(|one, other| by_time(one.exclusive, other.exclusive));
        profile
            .lines
            .sort_by(|one, other| by_time(one.seconds, other.seconds));
        Ok(profile)
    }

    /// Adds a line of the program. `None`: it is no line of figures.
    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split('\t').collect();
        match words[..] {
            ["whole", seconds] => self.seconds = seconds.parse().ok()?,
            ["sub", exclusive, inclusive, calls, name, file, line] => self.subs.push(ExactSub {
                exclusive: exclusive.parse().ok()?,
                inclusive: inclusive.parse().ok()?,
                calls: calls.parse().ok()?,
                name: name.to_owned(),
                file: file.to_owned(),
                line: line.parse().ok()?,
            }),
            ["line", seconds, statements, file, line] => self.lines.push(ExactLine {
                seconds: seconds.parse().ok()?,
                statements: statements.parse().ok()?,
                file: file.to_owned(),
                line: line.parse().ok()?,
            }),
            _ => return None,
        }
        Some(())
    }

    /// Returns the tables of the subs and lines with the most time.
    pub fn text(&self, rows: usize) -> String {
        let mut text = format!(
            "{} ms, {} statements\n\n{:>12} {:>12} {:>9}  sub\n",
            milliseconds(self.seconds),
            self.lines.iter().map(|line| line.statements).sum::<u64>(),
            "exclusive ms",
            "inclusive ms",
            "calls"
        );
        for sub in self.subs.iter().take(rows) {
            let place = match sub.file.as_str() {
                "" => String::new(),
                file => format!("  {file}:{}", sub.line),
            };
            let _ = writeln!(
                text,
                "{:>12} {:>12} {:>9}  {}{}",
                milliseconds(sub.exclusive),
                milliseconds(sub.inclusive),
                sub.calls,
                shown(&sub.name),
                shown(&place)
            );
        }
        let _ = writeln!(text, "\n{:>12} {:>22}  line", "ms", "statements");
        for line in self.lines.iter().take(rows) {
            let _ = writeln!(
                text,
                "{:>12} {:>22}  {}:{}",
                milliseconds(line.seconds),
                line.statements,
                shown(&line.file),
                line.line
            );
        }
        text
    }
}

fn run(perl: &Path, file: &Path) -> std::io::Result<Output> {
    let mut child = Command::new(perl)
        .arg("-")
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A program that is no perl may end without reading.
        match input.write_all(PROGRAM.as_bytes()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error),
            _ => {}
        }
    }
    child.wait_with_output()
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e3)
}

/// Names come from the application. A terminal must not obey them.
fn shown(name: &str) -> String {
    name.replace(char::is_control, "?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_strictly_and_names_reach_no_terminal_raw() {
        let mut profile = ExactProfile::default();
        for line in [
            "whole\t0.5",
            "sub\t0.1\t0.4\t3\tmain::\x1b[31mwork\t/a.pl\t7",
            "sub\t0.2\t0.2\t1\tPOSIX::floor\t\t0",
            "line\t0.3\t9\t/a.pl\t8",
        ] {
            assert!(profile.add(line).is_some(), "{line}");
        }
        for wrong in ["", "whole\tx\t1", "sub\t1\t2", "line\t1\t1\t/a\t-1"] {
            assert!(profile.add(wrong).is_none(), "{wrong}");
        }
        let text = profile.text(10);
        assert!(text.starts_with("500.000 ms, 9 statements\n"), "{text}");
        assert!(text.contains("main::?[31mwork  /a.pl:7\n"), "{text}");
        assert!(text.contains("1  POSIX::floor\n"), "{text}");
        assert!(text.contains("9  /a.pl:8\n"), "{text}");
    }

    #[test]
    fn file_that_is_no_profile_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("nytprof.out");
        std::fs::write(&file, "no profile").expect("written");
        let refused = ExactProfile::read(Path::new("perl"), &file).expect_err("no profile");
        assert!(refused.to_string().contains("nytprof.out: "), "{refused}");
    }
}
