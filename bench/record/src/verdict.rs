//! Defines the verdict of a run: whether the run is credible, and the reasons against it.

use serde::{Deserialize, Serialize};

/// How credible a run is, ordered by severity. The worst reason decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Judgement {
    #[default]
    Valid,
    Suspect,
    Invalid,
}

impl std::fmt::Display for Judgement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(match self {
            Judgement::Valid => "VALID",
            Judgement::Suspect => "SUSPECT",
            Judgement::Invalid => "INVALID",
        })
    }
}

/// One check that did not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// The check's name: `pacing`, `generator cpu`, `run queue`, `ports`, ...
    pub check: String,
    pub judgement: Judgement,
    /// One sentence with the measured value and its limit.
    pub text: String,
}

/// The verdict. Its judgement is always the worst of the reasons, so use [`Verdict::add`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub judgement: Judgement,
    #[serde(default)]
    pub reasons: Vec<Reason>,
    /// Notes for the reader. They do not change the judgement.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Verdict {
    pub fn add(&mut self, check: &str, judgement: Judgement, text: impl Into<String>) {
        self.judgement = self.judgement.max(judgement);
        self.reasons.push(Reason {
            check: check.to_owned(),
            judgement,
            text: text.into(),
        });
    }

    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }
}
