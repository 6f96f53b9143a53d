//! Reads an httpd.conf and its included files into a [`Site`].
//!
//! The reader continues after every fault, so all problems are reported at once. The functions of
//! the directive table (`directives/`) apply the lines. This module handles files, sections and
//! conditions.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::environment::{Environment, IncludeRequest, WantedAction};
use crate::include::{self, MOST_FILES};
use crate::line::{self, Character, Lines};
use crate::problem::{At, Fault};
use crate::team::TeamDraft;
use crate::{Change, Host, Interpreter, Note, Problem, Problems, Site};

mod custom;
mod directive_line;
mod finish;
mod htaccess;
mod macros;
mod managed;
mod part;
mod perl;
mod pools;
mod proxied;
mod sections;
mod teams;
mod unknown;
mod workers;

use custom::CustomSection;
use perl::PerlBlock;
use pools::{PoolDraft, PoolUse};
use sections::{Open, OpenKind};
use teams::OwnLine;

/// The shell script beside Debian's apache2.conf that exports the variables of the configuration.
const EXPORTED: &str = "envvars";
/// The longest configuration file in bytes. A longer file is probably a device or a database.
const LONGEST_FILE: u64 = 16 << 20;
/// The most processor time for reading a .htaccess file.
const LONGEST_READING: Duration = Duration::from_secs(5);
/// The number of problems after which the reading of a .htaccess file stops.
const MOST_PROBLEMS: usize = 100;

impl Site {
    /// Reads `conf` with the definitions of `-D` (`NAME` or `NAME=VALUE`). `ServerRoot` is the
    /// folder of `conf` until a line `ServerRoot` changes it.
    ///
    /// # Errors
    ///
    /// All problems of the files, each with its position. A file that cannot be read is also a
    /// problem.
    pub fn load(conf: &Path, defines: &[String]) -> Result<Site, Problems> {
        Reader::new(defines, None).load(conf)
    }

    /// Reads `conf`, with a perl for `<Perl>` sections and files that call `add_config`.
    ///
    /// # Errors
    ///
    /// As for [`Site::load`]. A `<Perl>` section that dies is also a problem.
    pub fn load_with(
        conf: &Path,
        defines: &[String],
        interpreter: &mut dyn Interpreter,
    ) -> Result<Site, Problems> {
        Site::load_with_lines(conf, defines, &[], interpreter)
    }

    /// Reads `conf` as [`Site::load_with`] does, but returns a site although the configuration has
    /// problems: the site of the lines that have none. Such a site may be described but not served.
    pub fn read_with(
        conf: &Path,
        defines: &[String],
        interpreter: &mut dyn Interpreter,
    ) -> (Site, Vec<Problem>) {
        let mut reader = Reader::new(defines, Some(interpreter));
        reader.read_first(conf);
        reader.conclude()
    }

    /// Reads `conf`, then lines that stand in no file: those of the command line's `-c`.
    ///
    /// # Errors
    ///
    /// As for [`Site::load_with`]. The file of a problem in `lines` is called `-c`.
    pub fn load_with_lines(
        conf: &Path,
        defines: &[String],
        lines: &[String],
        interpreter: &mut dyn Interpreter,
    ) -> Result<Site, Problems> {
        let mut reader = Reader::new(defines, Some(interpreter));
        reader.read_first(conf);
        if !lines.is_empty() {
            reader.file = PathBuf::from("-c");
            reader.read_text(&lines.join("\n"));
        }
        reader.finish()
    }
}

struct Reader<'a> {
    site: Site,
    main: Draft,
    /// The open `<VirtualHost>`.
    host: Option<Draft>,
    /// The `<VirtualHost>` sections that were closed.
    hosts: Vec<Draft>,
    /// The open `<PerlPool>`.
    pool: Option<PoolDraft>,
    /// The `<PerlPool>` sections that were closed.
    pools: Vec<PoolDraft>,
    environment: Environment,
    open: Vec<Open>,
    /// The number of sections that were opened.
    sections: u32,
    problems: Vec<Problem>,
    notes: Vec<Note>,
    file: PathBuf,
    /// The real paths of the files that are being read. Each file includes the next.
    reading: Vec<PathBuf>,
    /// By depth of sections: the condition that an `<ElseIf>` or `<Else>` would negate.
    conditions: std::collections::BTreeMap<usize, crate::Expression>,
    /// While a .htaccess file is read: the directives that the file may use.
    htaccess: Option<crate::Overrides>,
    unchecked: Unchecked,
    /// While lines in another language are skipped: the line that ends these lines.
    foreign_until: Option<&'static str>,
    macros: macros::Macros,
    perl_block: Option<PerlBlock>,
    custom_section: Option<CustomSection>,
    interpreter: Option<&'a mut dyn Interpreter>,
}

/// Uses of names that later lines may define, each with its position. They are checked after all
/// files have been read.
#[derive(Default)]
struct Unchecked {
    /// The uses of `SetHandler psgi` without a `PSGIApp`.
    without_app: Vec<(PathBuf, At)>,
    /// The uses of upstream names.
    named: Vec<(String, PathBuf, At)>,
    /// The uses of pools' names.
    pools: Vec<PoolUse>,
    /// The first line with a managed domain, which needs MDCertificateAgreement.
    managed: Option<(PathBuf, At)>,
    /// Handler names that need an `Action`.
    wants_action: Vec<(WantedAction, PathBuf)>,
}

/// A host that is being read, and its changes outside of sections.
struct Draft {
    host: Host,
    base: Vec<Change>,
    team: TeamDraft,
    /// Lines that need the host's own workers or Perl.
    own_lines: Vec<OwnLine>,
}

impl Draft {
    fn of(host: Host) -> Draft {
        Draft {
            host,
            base: Vec::new(),
            team: TeamDraft::default(),
            own_lines: Vec::new(),
        }
    }
}

impl<'a> Reader<'a> {
    fn load(mut self, conf: &Path) -> Result<Site, Problems> {
        self.read_first(conf);
        self.finish()
    }

    fn new(defines: &[String], interpreter: Option<&'a mut dyn Interpreter>) -> Reader<'a> {
        let mut environment = Environment::default();
        let names = &mut environment.definitions.names;
        // mod_perl defines this name.
        names.insert("MODPERL2".into(), String::new());
        for define in defines {
            let (name, value) = define.split_once('=').unwrap_or((define, ""));
            names.insert(name.into(), value.into());
        }
        let mut site = Site::defaults();
        let empty = Host::virtual_host(Vec::new(), site.main.base.clone());
        let main = std::mem::replace(&mut site.main, empty);
        let mut main = Draft::of(main);
        main.team.perl.clone_from(site.perl());
        main.team.workers.clone_from(site.workers());
        Reader {
            site,
            main,
            host: None,
            hosts: Vec::new(),
            pool: None,
            pools: Vec::new(),
            environment,
            open: Vec::new(),
            sections: 0,
            problems: Vec::new(),
            notes: Vec::new(),
            file: PathBuf::new(),
            reading: Vec::new(),
            conditions: Default::default(),
            htaccess: None,
            unchecked: Unchecked::default(),
            foreign_until: None,
            macros: Default::default(),
            perl_block: None,
            custom_section: None,
            interpreter,
        }
    }

    fn read_first(&mut self, conf: &Path) {
        self.file = conf.to_path_buf();
        match conf.canonicalize() {
            Ok(real) => {
                let folder = real.parent().unwrap_or(Path::new("/"));
                self.site.server_root = folder.to_path_buf();
                let folder = folder.to_path_buf();
                self.reading.push(real);
                self.read_exported(&folder);
                self.read_file(conf);
            }
            Err(error) => self.refuse_file(format!("cannot be read: {error}")),
        }
    }

    fn has_exported(&self) -> bool {
        !self.environment.definitions.exported.is_empty()
    }

    /// Learns the variables of `envvars`, the file with which Debian's Apache starts. The file
    /// stands beside the configuration, or beside a file that the configuration includes.
    fn read_exported(&mut self, folder: &Path) {
        let file = folder.join(EXPORTED);
        let Some(interpreter) = self.interpreter.as_deref_mut().filter(|_| file.is_file()) else {
            return;
        };
        match interpreter.environment(&file) {
            Ok(exported) => self.environment.definitions.exported = exported,
            Err(message) => {
                let first = std::mem::replace(&mut self.file, file);
                self.refuse_file(message);
                self.file = first;
            }
        }
    }

    fn read_file(&mut self, path: &Path) {
        self.file = path.to_path_buf();
        let mut bytes = Vec::new();
        let opened = self.open_file(path);
        let read = opened.and_then(|file| file.take(LONGEST_FILE + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            return self.refuse_file(format!("cannot be read: {error}"));
        }
        if bytes.len() as u64 > LONGEST_FILE {
            return self.refuse_file(format!("is longer than {LONGEST_FILE} bytes"));
        }
        self.site.source.files.push(path.to_path_buf());
        self.read_text(&String::from_utf8_lossy(&bytes));
    }

    /// Opens a file without waiting. A .htaccess may have been replaced by a pipe, and the reader
    /// must not wait for a process that writes to the pipe.
    fn open_file(&self, path: &Path) -> std::io::Result<File> {
        let mut options = OpenOptions::new();
        if self.htaccess.is_some() {
            options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
        }
        options.read(true).open(path)
    }

    fn read_text(&mut self, text: &str) {
        let outer = self.open.len();
        let began = thread_cpu_time();
        for characters in Lines::of(text) {
            if self.skip_foreign(&characters) {
                continue;
            }
            let Some(content) = line::content(&characters) else {
                continue;
            };
            if line::text(content) == "__END__" {
                break;
            }
            if let Err(fault) = self.take_line(content) {
                self.refuse(fault);
            }
            if self.htaccess.is_some() && self.is_too_much(began) {
                break;
            }
        }
        self.refuse_open_macro();
        if let Some(block) = self.perl_block.take() {
            let message = "<Perl> is not closed; expected </Perl> on a line of its own";
            self.refuse(Fault::new(block.at, message));
        }
        self.foreign_until = None;
        self.refuse_open_custom();
        self.refuse_left_open(outer);
    }

    /// Tells whether the reading of a .htaccess file must stop: it took too much time or found too
    /// many problems. Requests wait for the reading, and the file's owner may not be trusted.
    fn is_too_much(&mut self, began: Duration) -> bool {
        let is_slow = thread_cpu_time().saturating_sub(began) > LONGEST_READING;
        if is_slow {
            let seconds = LONGEST_READING.as_secs();
            self.refuse_file(format!(
                "takes more than {seconds} s of the processor to read"
            ));
        }
        is_slow || self.problems.len() >= MOST_PROBLEMS
    }

    /// Reports sections that were opened in this file and are still open.
    fn refuse_left_open(&mut self, outer: usize) {
        while let Some(open) = self.open.get(outer..).and_then(<[Open]>::last) {
            let message = format!(
                "<{0}> is not closed; expected </{0}> in the same file",
                open.name
            );
            let at = open.at;
            self.refuse(Fault::new(at, message));
            self.close_down_to(self.open.len() - 1);
        }
    }

    fn take_line(&mut self, content: &[Character]) -> Result<(), Fault> {
        if self.collects(content)? {
            Ok(())
        } else {
            self.read_line(content)
        }
    }

    /// Skips Perl documentation (in which `=over apache` to `=back` is configuration) and `<Perl>`
    /// blocks.
    fn skip_foreign(&mut self, characters: &[Character]) -> bool {
        let text = line::text(characters).to_ascii_lowercase();
        let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
        match self.foreign_until {
            Some("=cut") if begins(&["=over apache", "=cut"]) => self.foreign_until = None,
            Some("</perl>") if text.trim_start().starts_with("</perl>") => {
                self.foreign_until = None;
                self.run_perl();
            }
            Some("</perl>") => self.collect_perl(characters),
            Some(_) => {}
            None if begins(&["=pod", "=head", "=back", "=begin"]) => {
                self.foreign_until = Some("=cut")
            }
            None => return begins(&["=cut", "=over apache"]),
        }
        true
    }

    fn read_line(&mut self, content: &[Character]) -> Result<(), Fault> {
        let is_section = content[0].0 == '<';
        if self.is_skipping() && !is_section {
            return Ok(());
        }
        if self.is_skipping() {
            return self.section_line(content);
        }
        line::check_characters(content)?;
        let expanded = self.environment.definitions.expand(content)?;
        if self.collect_custom(&expanded) {
            return Ok(());
        }
        if is_section {
            self.section_line(&expanded)
        } else {
            self.directive_line(&expanded)
        }
    }

    fn is_skipping(&self) -> bool {
        let innermost = self.open.last();
        innermost.is_some_and(|open| matches!(open.kind, OpenKind::Skip))
    }

    fn include(&mut self, request: IncludeRequest) -> Result<(), Fault> {
        let at = request.at;
        let files = include::files(&self.site.server_root, &request.pattern)
            .map_err(|message| Fault::new(at, message))?;
        if files.is_none() && !request.optional {
            let pattern = request.pattern;
            let message =
                format!("no file is called `{pattern}`; expected one, or IncludeOptional");
            return Err(Fault::new(at, message));
        }
        let including = self.file.clone();
        for file in files.into_iter().flatten() {
            let real = file.canonicalize().unwrap_or_else(|_| file.clone());
            if self.reading.contains(&real) {
                let message = format!("`{}` includes itself here", file.display());
                return Err(Fault::new(at, message));
            }
            if self.site.source.files.len() >= MOST_FILES {
                let message = format!("more than {MOST_FILES} files are read here");
                return Err(Fault::new(at, message));
            }
            if let Some(folder) = real.parent().filter(|_| !self.has_exported()) {
                self.read_exported(folder);
            }
            self.reading.push(real);
            self.read_file(&file);
            self.reading.pop();
            self.file.clone_from(&including);
        }
        Ok(())
    }

    fn refuse(&mut self, fault: Fault) {
        self.problems.push(Problem {
            file: self.file.clone(),
            line: fault.at.line,
            column: fault.at.column,
            message: fault.message,
        });
    }

    fn refuse_file(&mut self, message: String) {
        self.refuse(Fault::new(At::default(), message));
    }
}

/// Returns the processor time of this thread.
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
