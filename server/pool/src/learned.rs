//! The modules that requests of a script load again and again, although each request of the rungs
//! `fork`, `rewind` and `auto` begins without them. The next generation's templates load these
//! modules before the first request (`Mehari::Learned`).

use crate::payload::Broken;
use std::collections::BTreeMap;

/// The number of requests that have to load a module.
const REQUESTS: u32 = 3;
/// The largest numbers of scripts, and of modules for each script. Further ones are not learned.
const SCRIPTS: usize = 256;
const MODULES: usize = 64;

#[derive(Debug, Default)]
pub struct Learned(BTreeMap<String, BTreeMap<String, Module>>);

#[derive(Debug, Clone)]
struct Module {
    file: String,
    requests: u32,
}

/// A module that the requests of a script load.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LearnedModule {
    pub script: String,
    /// The name in `%INC`, for example `DBD/SQLite.pm`.
    pub name: String,
    pub file: String,
}

impl LearnedModule {
    /// Returns the text of the preload.
    pub(crate) fn text(&self) -> String {
        format!("{}\0{}\0{}", self.script, self.name, self.file)
    }
}

impl Learned {
    /// Reads a worker's `MODULES` record: the script, then names and files, with NULs between them.
    /// Returns what is learned by this record.
    pub fn record(&mut self, payload: &[u8]) -> Result<Vec<LearnedModule>, Broken> {
        let text = std::str::from_utf8(payload).ok();
        let mut parts = text.unwrap_or_default().split('\0');
        let script = parts.next().unwrap_or_default();
        let names: Vec<&str> = parts.collect();
        if text.is_some() && !names.len().is_multiple_of(2) {
            return Err(Broken("a list of modules without an end"));
        }
        let mut learned = Vec::new();
        if self.0.len() >= SCRIPTS && !self.0.contains_key(script) {
            return Ok(learned);
        }
        for pair in names.chunks_exact(2) {
            if !is_module(pair[0], pair[1]) {
                continue;
            }
            if self.count(script, pair[0], pair[1]) == REQUESTS {
                learned.push(LearnedModule {
                    script: script.to_owned(),
                    name: pair[0].to_owned(),
                    file: pair[1].to_owned(),
                });
            }
        }
        Ok(learned)
    }

    /// Returns how many requests have loaded the module from this file.
    fn count(&mut self, script: &str, name: &str, file: &str) -> u32 {
        let modules = self.0.entry(script.to_owned()).or_default();
        if modules.len() >= MODULES && !modules.contains_key(name) {
            return 0;
        }
        let module = modules.entry(name.to_owned()).or_insert_with(|| Module {
            file: file.to_owned(),
            requests: 0,
        });
        if module.file != file {
            *module = Module {
                file: file.to_owned(),
                requests: 0,
            };
        }
        module.requests = module.requests.saturating_add(1);
        module.requests
    }

    pub fn all(&self) -> Vec<LearnedModule> {
        let modules = self.0.iter().flat_map(|(script, modules)| {
            let enough = modules.iter().filter(|(_, it)| it.requests >= REQUESTS);
            enough.map(move |(name, module)| LearnedModule {
                script: script.clone(),
                name: name.clone(),
                file: module.file.clone(),
            })
        });
        modules.collect()
    }
}

/// Whether a name and a file are those of a module. A script can write anything to `%INC`.
fn is_module(name: &str, file: &str) -> bool {
    let path = name.strip_suffix(".pm").unwrap_or_default();
    let is_word = |part: &str| {
        let mut letters = part.bytes();
        !part.is_empty() && letters.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    };
    path.split('/').all(is_word)
        && file.starts_with('/')
        && file.ends_with(&format!("/{name}"))
        && !file.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_learned_from_three_requests_that_load_the_same_file() {
        let mut learned = Learned::default();
        let told = b"/a.pl\0DBD/SQLite.pm\0/usr/lib/DBD/SQLite.pm";
        for _ in 0..2 {
            assert!(learned.record(told).is_ok_and(|new| new.is_empty()));
        }
        assert!(learned.all().is_empty());
        let new = learned.record(told).expect("the record is valid");
        assert_eq!(&new[0].text().as_bytes(), told);
        assert!(learned.record(told).is_ok_and(|new| new.is_empty()));
        assert_eq!(learned.all(), new);
        let elsewhere = b"/a.pl\0DBD/SQLite.pm\0/srv/lib/DBD/SQLite.pm";
        assert!(learned.record(elsewhere).is_ok());
        assert!(learned.all().is_empty());
    }

    #[test]
    fn entries_that_are_no_modules_are_ignored() {
        let mut learned = Learned::default();
        for entry in [
            "../x.pm\0/usr/../x.pm",
            "A.pl\0/usr/A.pl",
            "A.pm\0A.pm",
            ".pm\0/usr/.pm",
            "A.pm\0/usr/B.pm",
            "A.pm\0/usr/\n/A.pm",
        ] {
            for _ in 0..3 {
                let told = format!("/a.pl\0{entry}");
                assert!(learned.record(told.as_bytes()).is_ok(), "{entry}");
            }
        }
        assert!(learned.all().is_empty());
        assert!(learned.record(b"/a.pl\0A.pm").is_err());
        assert!(learned.record(b"\xff\0A.pm").is_ok());
    }
}
