//! `RewriteMap`: the source of `${name:key}`.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RewriteMap {
    /// `txt:FILE`, or `rnd:FILE` (`random`), whose values are alternatives separated by `|`.
    File { path: PathBuf, random: bool },
    /// `dbm=sdbm:FILE`: the path of the file of pages, FILE.pag.
    Sdbm(PathBuf),
    /// `prg:PROGRAM ARGUMENT...`: a program that reads a key per line and writes a value per line.
    Program(Vec<String>),
    #[serde(skip)]
    Internal(crate::Function),
}

impl RewriteMap {
    /// Parses the source of a map. `rest` is the arguments of a program.
    pub(crate) fn parse(text: &str, rest: &[&str], root: &Path) -> Result<RewriteMap, String> {
        let (kind, place) = text.split_once(':').unwrap_or(("txt", text));
        if place.is_empty() {
            return Err(format!("expected something behind `{kind}:`"));
        }
        Ok(match kind {
            "txt" | "rnd" => RewriteMap::File {
                path: root.join(place),
                random: kind == "rnd",
            },
            "int" => match crate::Function::of_maps(place) {
                Some(function) => RewriteMap::Internal(function),
                None => {
                    return Err(format!(
                        "expected tolower, toupper, escape or unescape, not `{place}`"
                    ))
                }
            },
            "prg" => {
                let mut words = place.split_whitespace().chain(rest.iter().copied());
                let program = root.join(words.next().unwrap_or_default());
                let own = program.to_string_lossy().into_owned();
                RewriteMap::Program(std::iter::once(own).chain(words.map(str::to_string)).collect())
            }
            "dbm=sdbm" => RewriteMap::Sdbm(root.join(format!("{place}.pag"))),
            "dbm" | "dbm=db" | "dbm=gdbm" | "dbm=ndbm" => {
                return Err(format!(
                    "expected dbm=sdbm:FILE, as `httxt2dbm -f SDBM` makes it, not `{text}`: other databases are not read"
                ))
            }
            _ => {
                return Err(format!(
                    "expected txt:FILE, rnd:FILE, int:FUNCTION, prg:PROGRAM or dbm=sdbm:FILE, not `{text}`"
                ))
            }
        })
    }
}
