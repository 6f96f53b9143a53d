//! `UserDir`: the pages of the machine's users, `/~NAME/...`.

/// The `UserDir` lines of one host.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct UserDirs {
    /// The places in order. The first folder that exists is used. If none exists, the last folder
    /// is used.
    pub places: Vec<UserPlace>,
    /// `disabled` without names: only the enabled users have pages.
    pub off: bool,
    pub disabled: Vec<String>,
    pub enabled: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UserPlace {
    /// A folder below the user's home directory.
    Home(String),
    /// `/home/*/www`: the name replaces the star.
    Pattern(String),
    /// `/usr/web`: the folder contains one folder per name.
    Below(String),
}

impl UserDirs {
    pub fn are_any(&self) -> bool {
        !self.places.is_empty()
    }

    /// Tells whether any place is below the home directories of users.
    pub fn ask_homes(&self) -> bool {
        let mut places = self.places.iter();
        places.any(|place| matches!(place, UserPlace::Home(_)))
    }

    /// Returns the user's name and the rest of the path, if the path is `/~NAME...` and the user
    /// has pages.
    pub fn asked<'p>(&self, path: &'p [u8]) -> Option<(&'p str, &'p [u8])> {
        let rest = path.strip_prefix(b"/~")?;
        let end = rest.iter().position(|byte| *byte == b'/');
        let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let name = std::str::from_utf8(name).ok()?;
        let is_one = |names: &[String]| names.iter().any(|known| known == name);
        // The name of an account begins with a letter, a digit or `_`. So `.` and `..` are not
        // names.
        let is_name = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_on = !is_one(&self.disabled) && (!self.off || is_one(&self.enabled));
        (is_name && is_on).then_some((name, rest))
    }
}

impl UserPlace {
    /// Returns the user's folder. Calls `home` only if the folder is below the home directory.
    pub fn folder(&self, name: &str, home: impl FnOnce() -> Option<String>) -> Option<String> {
        let joined = |folder: &str, name: &str| format!("{}/{name}", folder.trim_end_matches('/'));
        Some(match self {
            UserPlace::Home(folder) => joined(&home()?, folder),
            UserPlace::Pattern(pattern) => pattern.replace('*', name),
            UserPlace::Below(folder) => joined(folder, name),
        })
    }

    pub(crate) fn read(text: &str) -> UserPlace {
        match (text.starts_with('/'), text.contains('*')) {
            (true, true) => UserPlace::Pattern(text.to_string()),
            (true, false) => UserPlace::Below(text.to_string()),
            (false, _) => UserPlace::Home(text.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_account_names_that_are_not_disabled_have_pages() {
        let dirs = UserDirs {
            disabled: vec!["root".into()],
            ..UserDirs::default()
        };
        for (path, expected) in [
            ("/~ann/a/b", Some(("ann", &b"/a/b"[..]))),
            ("/~ann", Some(("ann", &b""[..]))),
            ("/~root/", None),
            ("/~/x", None),
            ("/~../x", None),
            ("/~./x", None),
            ("/ann", None),
            ("/x/~ann", None),
        ] {
            assert_eq!(dirs.asked(path.as_bytes()), expected, "{path}");
        }
        let few = UserDirs {
            off: true,
            enabled: vec!["ann".into()],
            ..UserDirs::default()
        };
        assert!(few.asked(b"/~ann/").is_some() && few.asked(b"/~bob/").is_none());
    }

    #[test]
    fn user_dir_places_mean_the_same_as_in_apache() {
        for (text, expected) in [
            ("public_html", Some("/home/ann/public_html")),
            ("/usr/web", Some("/usr/web/ann")),
            ("/usr/web/*/www", Some("/usr/web/ann/www")),
        ] {
            let folder = UserPlace::read(text).folder("ann", || Some("/home/ann".into()));
            assert_eq!(folder.as_deref(), expected, "{text}");
        }
        assert_eq!(UserPlace::read("www").folder("nobody", || None), None);
    }
}
