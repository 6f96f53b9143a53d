//! Why a plan cannot be carried out. Whatever a plan is made of says so in these words.

use std::fmt;

/// Why a plan cannot be carried out: one line for its author. No load was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanError(String);

impl PlanError {
    pub fn new(why: impl Into<String>) -> PlanError {
        PlanError(why.into())
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}
