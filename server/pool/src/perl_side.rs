//! Where the Perl side of the server is for an interpreter; it is built the first time it is asked for.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folders for @INC, ours first.
#[derive(Debug, Clone)]
pub struct PerlSide {
    pub folders: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the Perl side was looked for beside the program and in MEHARI_PERL and not found: expected a folder with build.pl")]
    NotFound,
    #[error("PerlInterpreter {interpreter}: {reason}")]
    Interpreter {
        interpreter: PathBuf,
        reason: io::Error,
    },
    #[error("the Perl side cannot be built for {0}: the lines above say why")]
    Build(PathBuf),
}

impl PerlSide {
    /// Finds the sources, and runs their `build.pl` under the interpreter: quick when it is built already.
    pub fn ensure(interpreter: &Path) -> Result<PerlSide, Error> {
        let source = find_source().ok_or(Error::NotFound)?;
        let output = Command::new(interpreter)
            .arg(source.join("build.pl"))
            .arg(cache(&source))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|reason| Error::Interpreter {
                interpreter: interpreter.to_owned(),
                reason,
            })?;
        if !output.status.success() {
            return Err(Error::Build(interpreter.to_owned()));
        }
        let folders = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(PathBuf::from)
            .collect();
        Ok(PerlSide { folders })
    }
}

/// `MEHARI_PERL`, else `perl/` in a folder above the program (a checkout), else the installed place.
fn find_source() -> Option<PathBuf> {
    let named = std::env::var_os("MEHARI_PERL").map(PathBuf::from);
    let program = std::env::current_exe()
        .ok()
        .and_then(|path| path.canonicalize().ok());
    let beside = program
        .iter()
        .flat_map(|path| path.ancestors().skip(1).map(|folder| folder.join("perl")))
        .collect::<Vec<_>>();
    let installed = program
        .iter()
        .flat_map(|path| {
            path.ancestors()
                .skip(2)
                .take(1)
                .map(|folder| folder.join("share/mehari/perl"))
        })
        .collect::<Vec<_>>();
    named
        .into_iter()
        .chain(beside)
        .chain(installed)
        .find(|folder| folder.join("build.pl").is_file())
}

/// Beside the sources when we may write there, else the user's cache folder.
fn cache(source: &Path) -> PathBuf {
    let beside = source.join("build");
    let writable = |folder: &Path| rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok();
    if beside.is_dir() || writable(source) {
        return beside;
    }
    let home = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    home.unwrap_or_else(|| PathBuf::from("/var/cache"))
        .join("mehari/perl")
}
