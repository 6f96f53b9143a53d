//! Defines the error of a plan that cannot be carried out. All parts of a plan report their errors
//! as a `PlanError`.

use std::fmt;

/// The reason why a plan cannot be carried out, in one line for the user.
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
