//! Checks that the subs of a file compute the same: a faster sub with another result is no gain.

use crate::driver::{file_of, Driver, Job};
use crate::error::TimeError;

/// The characters of a result that a message shows.
const SHOWN: usize = 50;

/// Calls each sub once, each in a process of its own. Compares what they return and print.
///
/// # Errors
/// A sub cannot be called, or its result is not that of the first sub.
pub fn compare_results(job: &Job) -> Result<(), TimeError> {
    let mut driver = Driver::start(job, false)?;
    let names = driver.names().to_vec();
    let mut expected: Option<(&str, String)> = None;
    for name in &names {
        let given = driver.results(name)?;
        match &expected {
            None => expected = Some((name, given)),
            Some((first, result)) if *result != given => {
                return Err(TimeError::Differ {
                    file: file_of(job),
                    first: (*first).to_owned(),
                    expected: around(result, &given),
                    sub: name.clone(),
                    given: around(&given, result),
                })
            }
            Some(_) => {}
        }
    }
    driver.finish();
    Ok(())
}

/// Returns the part of a text in which it begins to differ from the other.
fn around(text: &str, other: &str) -> String {
    let pairs = text.chars().zip(other.chars());
    let same = pairs.take_while(|(one, two)| one == two).count();
    let from = if text.chars().count() <= SHOWN {
        0
    } else {
        same.saturating_sub(SHOWN / 4)
    };
    let part: String = text.chars().skip(from).take(SHOWN).collect();
    let before = if from > 0 { "..." } else { "" };
    let is_cut = text.chars().count() > from + SHOWN;
    format!("{before}{part}{}", if is_cut { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_results_are_shown_where_they_differ() {
        let (one, two) = ("x".repeat(100) + "1", "x".repeat(100) + "2");
        assert_eq!(around(&one, &two), format!("...{}1", "x".repeat(12)));
        assert_eq!(around("[1]", "[2]"), "[1]");
        assert_eq!(around(&"y".repeat(60), ""), "y".repeat(50) + "...");
    }
}
