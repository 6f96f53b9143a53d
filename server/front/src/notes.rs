//! What the configuration's rules have found out about one request, and changed in it. A request that no
//! rule is about has none.

use std::sync::Arc;

#[derive(Debug, Default, Clone)]
pub struct Notes {
    /// Variables of `SetEnvIf`, `RewriteRule [E=]` and the like; the last of a name counts.
    pub variables: Vec<(Vec<u8>, Vec<u8>)>,
    /// The user whose password was right.
    pub user: Option<Arc<[u8]>>,
    /// What became of the last password that was looked at.
    pub checked: Option<Checked>,
    /// The request's fields, once `RequestHeader` has changed them.
    pub fields: Option<Vec<(Vec<u8>, Vec<u8>)>>,
    /// Header lines that go with the answer whatever it is: cookies of rules.
    pub lines: Vec<u8>,
    /// The status the front refuses with, where a Perl handler has a say in it.
    pub access_status: u16,
    /// `RewriteRule [END]`: no more rewriting.
    pub ended: bool,
    pub edge: EdgeNotes,
}

/// What scripts at the edge have said of it.
#[derive(Debug, Default, Clone)]
pub struct EdgeNotes {
    /// The file that stands for the path.
    pub mapped: Option<Vec<u8>>,
    /// Fields of the answer, in place of its own of the same name.
    pub fields: Vec<(Vec<u8>, Vec<u8>)>,
    /// They have seen the head of the response.
    pub responded: bool,
}

/// A password that has been looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    pub user_file: std::path::PathBuf,
    pub right: bool,
}

impl Notes {
    pub fn set(&mut self, name: &[u8], value: Vec<u8>) {
        self.unset(name);
        self.variables.push((name.to_vec(), value));
    }

    pub fn unset(&mut self, name: &[u8]) {
        self.variables.retain(|(known, _)| known != name);
    }

    pub fn variable(&self, name: &[u8]) -> Option<&[u8]> {
        let mut known = self.variables.iter().rev();
        known
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_slice())
    }

    /// As Apache does when a request is led on within the server.
    pub fn redirected(&mut self) {
        for (name, _) in &mut self.variables {
            name.splice(..0, b"REDIRECT_".iter().copied());
        }
    }
}
