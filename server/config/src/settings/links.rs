//! `Options FollowSymLinks` and `SymLinksIfOwnerMatch`.

use crate::option;

/// Which symbolic links are followed. As in Apache, both options may be set. Then only links are
/// followed whose owner also owns the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Links {
    pub(crate) followed: bool,
    pub(crate) of_one_owner: bool,
}

impl Default for Links {
    fn default() -> Links {
        Links {
            followed: true,
            of_one_owner: false,
        }
    }
}

impl Links {
    /// Whether every link is followed.
    pub fn are_all_followed(self) -> bool {
        self.followed && !self.of_one_owner
    }

    /// Whether no link is followed.
    pub fn are_refused(self) -> bool {
        !self.followed && !self.of_one_owner
    }

    /// Applies one `Options` line ([`crate::Change::Options`]).
    pub(crate) fn change(&mut self, clear: bool, on: u8, off: u8) {
        if clear {
            (self.followed, self.of_one_owner) = (false, false);
        }
        for (bit, known) in [
            (option::FOLLOW, &mut self.followed),
            (option::IF_OWNER, &mut self.of_one_owner),
        ] {
            *known = on & bit != 0 || (*known && off & bit == 0);
        }
    }
}

impl serde::Serialize for Links {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(match (self.followed, self.of_one_owner) {
            (_, true) => "of-one-owner",
            (true, false) => "followed",
            (false, false) => "refused",
        })
    }
}
