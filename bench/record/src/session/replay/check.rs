//! Checks an answer against the recorded answer.

use std::str::FromStr;

use super::script::Expected;

/// The parts of an answer that must equal the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    pub status: bool,
    pub body: bool,
}

impl FromStr for Checks {
    type Err = String;

    /// Reads `status`, `body`, both separated by a comma, or `none`.
    fn from_str(text: &str) -> Result<Checks, String> {
        let mut checks = Checks {
            status: false,
            body: false,
        };
        for word in text.split(',') {
            match word.trim() {
                "status" => checks.status = true,
                "body" => checks.body = true,
                "none" if text.trim() == "none" => {}
                word => return Err(format!("expected `status`, `body` or `none`, got `{word}`")),
            }
        }
        Ok(checks)
    }
}

/// How an answer differs from the recorded answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub words: String,
    /// The answer's body, if it is what differs. The report compares it with the recorded body only
    /// if it is an entry's first difference, so the users lose no time.
    pub body: Option<Vec<u8>>,
}

impl Checks {
    /// Describes how the answer differs from the recorded answer; `None` if it does not.
    pub fn difference(self, expected: &Expected, status: u16, body: &[u8]) -> Option<Difference> {
        // Browsers record status 0 for a missing answer.
        if self.status && expected.status != 0 && status != expected.status {
            return Some(Difference {
                words: format!("status {status}, recorded {}", expected.status),
                body: None,
            });
        }
        let recorded = expected.body.as_deref().filter(|_| self.body)?;
        if recorded == body {
            return None;
        }
        let same = recorded
            .iter()
            .zip(body)
            .take_while(|(a, b)| a == b)
            .count();
        let words = format!(
            "body differs from byte {} on ({} bytes, recorded {})",
            same + 1,
            body.len(),
            recorded.len()
        );
        Some(Difference {
            words,
            body: Some(body.to_vec()),
        })
    }
}
