//! Makes the layout of a perl that is not the server's. The layout is compiled once with the
//! headers of that perl and then kept in the user's cache folder.
//!
//! The process's own program is run to ask for its settings (`perl -MConfig`). Only a program that
//! belongs to root or to the caller is run, because the caller may be root.

use crate::image::ObjectFile;
use crate::layout::{self, PerlLayout};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Prints the compiler, its flags and the folder of the headers.
const ASK: &str = r#"print join "\0", $Config{cc}, $Config{ccflags}, "$Config{archlibexp}/CORE", $Config{version}, $Config{archname}"#;

struct PerlSettings {
    compiler: String,
    flags: String,
    headers: String,
    version: String,
    kind: String,
}

/// Makes the layout for the perl of a process, whose image is `image`.
pub fn layout(pid: u32, image: &str) -> Result<PerlLayout, String> {
    let perl = perl_of(pid, image)?;
    let settings = ask(&perl)?;
    let folder = cache()?;
    let object = folder.join(format!("{}.o", settings.word()));
    if !object.exists() {
        compile(&settings, &object)?;
    }
    let file = fs::read(&object).map_err(|error| format!("{}: {error}", object.display()))?;
    let file = ObjectFile(file);
    match (file.contents(layout::TABLE), file.contents(layout::FULL_OP)) {
        (Some(table), Some(op)) => PerlLayout::parse(&table, &op),
        _ => Err(format!("{} has no table; remove it", object.display())),
    }
}

/// Returns the program that prints the settings: the process's own program, or `perl` if the
/// process uses perl as a library.
fn perl_of(pid: u32, image: &str) -> Result<PathBuf, String> {
    if image.contains("libperl") && !runs_perl(pid) {
        return Ok("perl".into());
    }
    let program = PathBuf::from(format!("/proc/{pid}/exe"));
    let meta = fs::metadata(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let own = own_user();
    if meta.uid() != 0 && meta.uid() != own || meta.mode() & 0o022 != 0 {
        return Err(format!(
            "{image} is not root's or yours alone, so it is not run to ask for its headers"
        ));
    }
    Ok(program)
}

fn runs_perl(pid: u32) -> bool {
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.contains("perl")
}

/// Returns the caller's user: the owner of /proc/self.
fn own_user() -> u32 {
    fs::metadata("/proc/self").map_or(u32::MAX, |meta| meta.uid())
}

fn ask(perl: &Path) -> Result<PerlSettings, String> {
    let mut command = Command::new(perl);
    command
        .args(["-MConfig", "-e", ASK])
        .stdin(Stdio::null())
        .current_dir("/");
    // The modules and options of the caller's environment are not meant for the other perl.
    command.env_remove("PERL5OPT").env_remove("PERL5LIB");
    let output = command
        .output()
        .map_err(|error| format!("{} cannot be run: {error}", perl.display()))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = said.split('\0').map(str::to_owned);
    let mut next = || words.next().filter(|word| !word.is_empty());
    match (next(), next(), next(), next(), next()) {
        (Some(compiler), Some(flags), Some(headers), Some(version), Some(kind))
            if output.status.success() =>
        {
            Ok(PerlSettings {
                compiler,
                flags,
                headers,
                version,
                kind,
            })
        }
        _ => Err(format!(
            "{} does not tell its settings (`perl -MConfig`)",
            perl.display()
        )),
    }
}

impl PerlSettings {
    /// Returns the name of the object file in the cache.
    fn word(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (
            layout::SOURCE,
            &self.compiler,
            &self.flags,
            &self.headers,
            &self.kind,
        )
            .hash(&mut hasher);
        format!("perl-{}-{:016x}", self.version, hasher.finish())
    }
}

fn compile(settings: &PerlSettings, object: &Path) -> Result<(), String> {
    if !Path::new(&settings.headers).join("perl.h").exists() {
        return Err(format!(
            "the headers of perl {} are missing ({}/perl.h): Debian has them in the package perl",
            settings.version, settings.headers
        ));
    }
    // Two threads of this process may compile at the same time, too.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let made = object.with_extension(format!("{}-{count}.tmp", std::process::id()));
    let source = made.with_extension("c");
    fs::write(&source, layout::SOURCE).map_err(|error| format!("{}: {error}", source.display()))?;
    let mut words = settings.compiler.split_ascii_whitespace();
    let compiler = words.next().unwrap_or("cc");
    let output = Command::new(compiler)
        .args(words)
        .args(settings.flags.split_ascii_whitespace())
        .args(["-w", "-c", "-fPIC", "-I", &settings.headers, "-o"])
        .args([&made, &source])
        .output();
    let _ = fs::remove_file(&source);
    let output =
        output.map_err(|error| format!("the C compiler {compiler} is missing: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said
            .lines()
            .find(|line| line.contains("error"))
            .unwrap_or_default();
        return Err(format!(
            "{compiler} fails with the headers of perl {}: {first}",
            settings.version
        ));
    }
    fs::rename(&made, object).map_err(|error| format!("{}: {error}", object.display()))
}

/// Returns the user's cache folder, into which no other user can write.
fn cache() -> Result<PathBuf, String> {
    let base = std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty());
    let base = match base {
        Some(path) => PathBuf::from(path),
        None => match std::env::var_os("HOME") {
            Some(home) => PathBuf::from(home).join(".cache"),
            None => return Err("neither HOME nor XDG_CACHE_HOME names a folder for it".to_owned()),
        },
    };
    let folder = base.join("mehari/perl-layout");
    let mut builder = fs::DirBuilder::new();
    let told = |error: std::io::Error| format!("{}: {error}", folder.display());
    builder
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(told)?;
    let meta = fs::metadata(&folder).map_err(told)?;
    if meta.uid() != own_user() || meta.mode() & 0o022 != 0 {
        return Err(format!("{} is not this user's alone", folder.display()));
    }
    Ok(folder)
}
