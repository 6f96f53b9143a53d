//! Decides which parts of a page are printed, from the page's nested conditions.

use super::render::ElementError;

#[derive(Default)]
pub struct Branches(Vec<Branch>);

/// An `if` whose `endif` has not been read. `prints`: whether the current branch is printed.
/// `done`: whether any branch has been printed.
struct Branch {
    prints: bool,
    done: bool,
}

impl Branches {
    pub fn print(&self) -> bool {
        self.0.iter().all(|branch| branch.prints)
    }

    pub fn open(&mut self, met: bool) {
        self.0.push(Branch {
            prints: met,
            done: met,
        });
    }

    /// Notes that the condition of the current branch is invalid. As in Apache, no branch of the
    /// `if` is printed then.
    pub fn fail(&mut self) {
        if let Some(branch) = self.0.last_mut() {
            branch.prints = false;
            branch.done = true;
        }
    }

    /// Returns whether the condition of an `elif` must be evaluated.
    pub fn ask(&self) -> bool {
        self.0
            .split_last()
            .is_some_and(|(last, outer)| !last.done && outer.iter().all(|branch| branch.prints))
    }

    /// Begins the branch of an `elif` or `else`. The branch is printed if its condition is `met`
    /// and no earlier branch was printed. For `else`, `met` is true.
    pub fn change(&mut self, word: &str, met: bool) -> Result<(), ElementError> {
        let Some(branch) = self.0.last_mut() else {
            return Err(format!("`{word}` without its `if`"));
        };
        branch.prints = met && !branch.done;
        branch.done |= branch.prints;
        Ok(())
    }

    pub fn close(&mut self) -> Result<(), ElementError> {
        let closed = self.0.pop().map(drop);
        closed.ok_or_else(|| "`endif` without its `if`".to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_branch_prints_and_only_within_one_that_does() {
        let mut branches = Branches::default();
        assert!(branches.print() && !branches.ask());
        branches.open(false);
        assert!(!branches.print() && branches.ask());
        // Nothing inside an unprinted branch is printed.
        branches.open(false);
        assert!(!branches.ask());
        branches.change("else", true).expect("open");
        assert!(!branches.print());
        branches.close().expect("open");
        branches.change("elif", true).expect("open");
        assert!(branches.print() && !branches.ask());
        branches.change("else", true).expect("open");
        assert!(!branches.print());
        branches.close().expect("open");
        assert!(branches.print());
        assert!(branches.close().is_err() && branches.change("else", true).is_err());
    }
}
