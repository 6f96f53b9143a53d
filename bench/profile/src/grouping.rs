//! Names the rows of tables: a sub or a line.

use crate::profile::{FrameKind, Profile};

/// What a table has a row for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    Sub,
    Line,
}

impl Grouping {
    pub fn word(self) -> &'static str {
        match self {
            Grouping::Sub => "sub",
            Grouping::Line => "line",
        }
    }

    /// Returns the row of a frame. A frame that is no Perl code has no line.
    pub fn name(self, profile: &Profile, frame: u32) -> Option<String> {
        let label = &profile.frames[frame as usize];
        match (self, label.kind) {
            (Grouping::Line, FrameKind::Perl) => {
                Some(format!("{}:{}", shown(&label.file), label.line))
            }
            (Grouping::Line, _) => None,
            (Grouping::Sub, FrameKind::Perl | FrameKind::Wait) => Some(shown(&label.name)),
            (Grouping::Sub, kind) => Some(format!("{} ({})", shown(&label.name), kind.word())),
        }
    }
}

/// A name from the process, without characters that a terminal would obey.
pub fn shown(name: &str) -> String {
    let plain = |mark: char| {
        if mark.is_control() {
            mark.escape_default().collect()
        } else {
            String::from(mark)
        }
    };
    name.chars().map(plain).collect()
}
