//! The conditions a page is within: which of its parts are printed.

use super::render::Wrong;

#[derive(Default)]
pub struct Branches(Vec<Branch>);

/// An `if` that is open: whether it prints now, and whether one of its branches has.
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

    /// Whether an `elif` here has to be asked.
    pub fn ask(&self) -> bool {
        self.0
            .split_last()
            .is_some_and(|(last, outer)| !last.done && outer.iter().all(|branch| branch.prints))
    }

    /// `elif`, and with `true` `else`: it prints where no branch before it has.
    pub fn change(&mut self, word: &str, met: bool) -> Result<(), Wrong> {
        let Some(branch) = self.0.last_mut() else {
            return Err(format!("`{word}` without its `if`"));
        };
        branch.prints = met && !branch.done;
        branch.done |= branch.prints;
        Ok(())
    }

    pub fn close(&mut self) -> Result<(), Wrong> {
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
        // Within what does not print nothing does.
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
