//! The nested conditions of a page: decides which parts are printed.

use super::render::ElementError;

#[derive(Default)]
pub struct Branches(Vec<Branch>);

/// An open `if`: whether it prints now, and whether any branch has printed.
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

    /// Whether the condition of an `elif` must be evaluated.
    pub fn ask(&self) -> bool {
        self.0
            .split_last()
            .is_some_and(|(last, outer)| !last.done && outer.iter().all(|branch| branch.prints))
    }

    /// Begins the branch of an `elif`, or with `true` of an `else`. The branch prints if no earlier
    /// one has.
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
        // Nothing inside an unprinted branch prints.
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
