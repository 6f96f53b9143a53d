//! Finds the Perl side of the server for an interpreter, and builds the Perl side at the first use.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folders for @INC, with Mehari's own folders first.
#[derive(Debug, Clone)]
pub struct PerlSide {
    pub folders: Vec<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the Perl side was not found beside the program or in MEHARI_PERL: expected a folder with build.pl")]
    NotFound,
    #[error("PerlInterpreter {interpreter}: {reason}")]
    Interpreter {
        interpreter: PathBuf,
        reason: io::Error,
    },
    #[error("the Perl side cannot be built for {0}: the lines above say why")]
    Build(PathBuf),
    #[error("the build of the Perl side for {interpreter} was interrupted by signal {signal}: start again to build it")]
    Interrupted { interpreter: PathBuf, signal: i32 },
}

impl PerlSide {
    /// Finds the sources and runs their `build.pl` under the interpreter. The run is quick if
    /// everything is built.
    ///
    /// # Errors
    ///
    /// [`Error`] if there are no sources, the interpreter cannot be started, or the build fails.
    pub fn ensure(interpreter: &Path) -> Result<PerlSide, Error> {
        let source = find_source().ok_or(Error::NotFound)?;
        let beside = source.join("build");
        if writable(&beside) || (!beside.exists() && writable(&source)) {
            return build(interpreter, &source, &beside, Stdio::inherit());
        }
        // Another user may have built the Perl side there. Otherwise it is built for this user.
        let found = beside.is_dir().then(|| {
            let quietly = Stdio::null();
            build(interpreter, &source, &beside, quietly)
        });
        match found {
            Some(Ok(side)) => Ok(side),
            _ => build(interpreter, &source, &own_cache(), Stdio::inherit()),
        }
    }
}

/// Runs `build.pl`, which only prints its folders if everything is built.
fn build(
    interpreter: &Path,
    source: &Path,
    cache: &Path,
    stderr: Stdio,
) -> Result<PerlSide, Error> {
    let output = Command::new(interpreter)
        .arg(source.join("build.pl"))
        .arg(cache)
        .stderr(stderr)
        .output()
        .map_err(|reason| Error::Interpreter {
            interpreter: interpreter.to_owned(),
            reason,
        })?;
    if let Some(signal) = output.status.signal() {
        return Err(Error::Interrupted {
            interpreter: interpreter.to_owned(),
            signal,
        });
    }
    if !output.status.success() {
        return Err(Error::Build(interpreter.to_owned()));
    }
    let folders = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(PathBuf::from)
        .collect();
    Ok(PerlSide { folders })
}

/// `MEHARI_PERL`, or else the checkout in whose `target` the program lies, or else the installed
/// folder.
fn find_source() -> Option<PathBuf> {
    let named = std::env::var_os("MEHARI_PERL").map(PathBuf::from);
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let beside = program
        .ok()
        .into_iter()
        .flat_map(|program| places(&program));
    named
        .into_iter()
        .chain(beside)
        .find(|folder| folder.join("build.pl").is_file())
}

/// Returns the folders that belong to this program. Other parent folders are excluded, because the
/// server runs the code in the folder that is found.
fn places(program: &Path) -> Vec<PathBuf> {
    let built = program
        .ancestors()
        .filter(|folder| folder.ends_with("target"));
    let checkouts = built.filter_map(|folder| Some(folder.parent()?.join("perl")));
    let prefix = program.ancestors().nth(2);
    let installed = prefix.map(|prefix| prefix.join("share/mehari/perl"));
    checkouts.chain(installed).collect()
}

fn writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Returns the folder for builds in the user's cache folder.
fn own_cache() -> PathBuf {
    let home = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")));
    home.unwrap_or_else(|| PathBuf::from("/var/cache"))
        .join("mehari/perl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_belong_to_the_program_are_searched() {
        let of = |program: &str| places(Path::new(program));
        let path = PathBuf::from;
        let checkout = of("/src/mehari/target/release/mehari");
        assert_eq!(checkout[0], path("/src/mehari/perl"));
        assert_eq!(of("/usr/bin/mehari"), [path("/usr/share/mehari/perl")]);
        assert_eq!(of("/tmp/mehari"), [path("/share/mehari/perl")]);
    }
}
