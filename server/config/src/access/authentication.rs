//! How a user is known: `AuthType` and what belongs to it.

/// `AuthType` and its family; `None` is not said.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Authentication {
    pub kind: Option<String>,
    /// `AuthName`
    pub realm: Option<String>,
    pub user_file: Option<std::path::PathBuf>,
    pub group_file: Option<std::path::PathBuf>,
}

impl Authentication {
    pub(crate) fn hear(&mut self, word: &crate::AuthWord) {
        match word {
            crate::AuthWord::Kind(kind) => {
                self.kind = Some(kind.clone()).filter(|kind| !kind.eq_ignore_ascii_case("none"))
            }
            crate::AuthWord::Realm(realm) => self.realm = Some(realm.clone()),
            crate::AuthWord::UserFile(file) => self.user_file = Some(file.clone()),
            crate::AuthWord::GroupFile(file) => self.group_file = Some(file.clone()),
        }
    }

    /// Whether the front itself can find out who the user is.
    pub fn is_basic(&self) -> bool {
        let kind = self.kind.as_deref();
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case("basic"))
    }
}
