//! What a check says: an advice with its measured cost, or that nothing needs to change, or why
//! nothing could be measured.

use serde::Serialize;
use std::path::{Path, PathBuf};

/// The outcome of one check.
pub enum Verdict {
    /// The largest cost stands first.
    Advice(Vec<Advice>),
    /// What was measured, and that it needs no change.
    Fine(String),
    /// Why nothing was measured.
    Unmeasured(String),
}

/// A check by its name, and its outcome.
pub struct Finding {
    pub check: &'static str,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    /// One sentence: what costs.
    pub what: String,
    /// The cost in words, with units.
    pub measured: String,
    pub figures: Vec<CostFigure>,
    pub change: ProposedChange,
    /// The command that shows the gain.
    pub gain: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostFigure {
    pub name: &'static str,
    pub value: f64,
    pub unit: &'static str,
    /// Half of the 95 % confidence interval, where the figure is a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<f64>,
}

pub fn figure(name: &'static str, value: f64, unit: &'static str) -> CostFigure {
    CostFigure {
        name,
        value,
        unit,
        interval: None,
    }
}

/// A line to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProposedChange {
    /// `None`: the server has no configuration file yet.
    pub file: Option<PathBuf>,
    pub line: u32,
    pub kind: ChangeKind,
    /// The line as it is. Empty if the text is new.
    pub old: String,
    /// The new text, or in words what the line has to do otherwise.
    pub new: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The new text takes the place of the line.
    Replace,
    /// The new text follows the line.
    Insert,
    /// The line is code, which its author has to change.
    Code,
}

impl ProposedChange {
    pub fn replace(file: &Path, line: u32, old: &str, new: &str) -> ProposedChange {
        ProposedChange {
            file: Some(file.to_owned()),
            line,
            kind: ChangeKind::Replace,
            old: old.to_owned(),
            new: new.to_owned(),
        }
    }

    /// Points to a line of code. The line is read from the file.
    pub fn code(file: &str, line: u32, new: &str) -> ProposedChange {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let at = (line as usize).saturating_sub(1);
        ProposedChange {
            file: Some(PathBuf::from(file)),
            line,
            kind: ChangeKind::Code,
            old: text.lines().nth(at).unwrap_or_default().trim().to_owned(),
            new: new.to_owned(),
        }
    }

    /// Returns the change in words.
    pub fn told(&self) -> String {
        let new = self.new.replace('\n', " | ");
        let Some(file) = &self.file else {
            return format!("in a configuration file (`mehari serve -f`): {new}");
        };
        let place = format!("{}:{}", file.display(), self.line);
        match self.kind {
            ChangeKind::Replace if new.is_empty() => format!("{place}: remove `{}`", self.old),
            ChangeKind::Replace => format!("{place}: `{}` becomes `{new}`", self.old),
            ChangeKind::Insert => format!("{place}: after this line add `{new}`"),
            ChangeKind::Code => format!("{place}: `{}`: {new}", self.old),
        }
    }
}
