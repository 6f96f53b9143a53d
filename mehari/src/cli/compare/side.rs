//! Recognises a side of the comparison, A or B, by the form of its argument.

use std::path::{Path, PathBuf};

use super::Failure;

#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    Url(String),
    /// A file of `[WEIGHT] [METHOD] URL` lines.
    Requests(PathBuf),
    /// The files of one or several records.
    Records(Vec<PathBuf>),
    /// A shell command that serves until it is ended.
    Command(String),
}

impl Side {
    pub fn parse(text: &str) -> Result<Side, Failure> {
        if text.starts_with("http://") || text.starts_with("https://") {
            return Ok(Side::Url(text.to_owned()));
        }
        let paths: Vec<PathBuf> = text.split(',').map(PathBuf::from).collect();
        let is_record = |path: &PathBuf| path.extension().is_some_and(|name| name == "json");
        if paths.iter().all(is_record) {
            return match paths.iter().find(|path| !path.is_file()) {
                Some(missing) => Err(Failure::Usage(format!(
                    "there is no record file {}",
                    missing.display()
                ))),
                None => Ok(Side::Records(paths)),
            };
        }
        if Path::new(text).is_file() && !is_executable(Path::new(text)) {
            return Ok(Side::Requests(PathBuf::from(text)));
        }
        if text.contains(char::is_whitespace) || is_program(text) {
            Ok(Side::Command(text.to_owned()))
        } else {
            Err(Failure::Usage(format!(
                "`{text}` is not a URL (http://HOST[:PORT]/PATH), a file or a program"
            )))
        }
    }
}

fn is_program(name: &str) -> bool {
    if name.contains('/') {
        return is_executable(Path::new(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| is_executable(&folder.join(name)));
    found
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_recognised_by_their_form() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        for (text, side) in [
            ("http://a/", Side::Url("http://a/".into())),
            ("sleep 9", Side::Command("sleep 9".into())),
            ("sh", Side::Command("sh".into())),
            (file, Side::Requests(file.into())),
        ] {
            assert_eq!(Side::parse(text).expect(text), side);
        }
        for text in ["missing.json", "no-such-word", "htp://a"] {
            assert!(Side::parse(text).is_err(), "{text}");
        }
    }
}
