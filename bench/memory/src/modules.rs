//! Measures what loading a module costs, with the program `modules.pl` in the site's perl.
//!
//! Each module is loaded in processes of its own, which are forked before anything is loaded. The
//! caller repeats and interleaves the trials.

use crate::error::MemoryError;
use serde::Serialize;
use std::collections::HashSet;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = include_str!("modules.pl");

/// What follows `use` in a script: a module's name, and the list of its import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedModule {
    text: String,
    name: String,
    list: String,
}

impl TriedModule {
    /// Reads what follows `use`.
    ///
    /// # Errors
    /// The first word is not a module's name.
    pub fn parse(text: &str) -> Result<TriedModule, MemoryError> {
        let text = text.trim().trim_end_matches(';');
        let of_name = |byte: &char| byte.is_ascii_alphanumeric() || matches!(byte, ':' | '_');
        let end = text.find(|byte| !of_name(&byte)).unwrap_or(text.len());
        let (name, list) = text.split_at(end);
        let mut words = name.split("::");
        let is_word = |word: &str| !word.is_empty() && !word.contains(':');
        let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        let ends = list.is_empty() || list.starts_with(|next: char| " \t(".contains(next));
        if !begins || !ends || !words.all(is_word) {
            return Err(MemoryError::NotModule(text.to_owned()));
        }
        let list = list.trim();
        let is_empty = list.starts_with('(') && list.replace(' ', "") == "()";
        Ok(TriedModule {
            text: text.to_owned(),
            name: name.to_owned(),
            list: if is_empty { "()" } else { list }.to_owned(),
        })
    }

    /// No module: what a trial itself costs.
    pub fn nothing() -> TriedModule {
        TriedModule {
            text: String::new(),
            name: String::new(),
            list: String::new(),
        }
    }

    /// Returns the module without an import. `None`: this is one.
    pub fn without_import(&self) -> Option<TriedModule> {
        (self.list != "()").then(|| TriedModule {
            text: format!("{} ()", self.name),
            name: self.name.clone(),
            list: "()".to_owned(),
        })
    }

    /// Whether both are the same module with the same list.
    pub fn is_same_use(&self, other: &TriedModule) -> bool {
        (&self.name, &self.list) == (&other.name, &other.list)
    }

    /// What follows `use`, as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The figures of one trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ModuleLoad {
    /// The memory that the module and what it loads take.
    pub bytes: f64,
    /// The processor time of `require`, in microseconds.
    pub load_us: f64,
    /// The further memory of the import into one package, and its processor time.
    pub import_bytes: f64,
    pub import_us: f64,
    /// The names that the import adds to the package.
    pub names: f64,
    /// What a forked process writes when it compiles a script that uses the module.
    pub unshared: f64,
    /// The ops and the Perl subs of the module and of what it loads, and the subs in C.
    pub ops: f64,
    pub subs: f64,
    pub xs_subs: f64,
    /// The files that the module has loaded, and its own, as %INC names them.
    #[serde(skip)]
    pub brought: Vec<String>,
}

/// What each further package takes that uses a module, in one trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct FurtherImport {
    pub bytes: f64,
    /// The processor time, in microseconds.
    pub us: f64,
    /// The names that the import adds to the package.
    pub names: f64,
}

/// Loads modules with one perl.
pub struct ModuleTrial {
    perl: PathBuf,
    given: Vec<String>,
    /// Folders that perl searches first.
    folders: Vec<PathBuf>,
}

impl ModuleTrial {
    pub fn new(perl: PathBuf) -> ModuleTrial {
        ModuleTrial {
            perl,
            given: Vec::new(),
            folders: Vec::new(),
        }
    }

    /// Loads each module into a perl that has modules already, and that searches in these folders
    /// first. `given`: the files of the modules, as %INC names them.
    pub fn beside(self, given: Vec<String>, folders: Vec<String>) -> ModuleTrial {
        ModuleTrial {
            given,
            folders: folders.into_iter().map(PathBuf::from).collect(),
            ..self
        }
    }

    /// Adds folders that perl searches first, as `-I`.
    pub fn with_folders(mut self, folders: Vec<PathBuf>) -> ModuleTrial {
        self.folders.extend(folders);
        self
    }

    /// Returns the modules that are loaded after `use` of one, this module included. `None`: the
    /// module cannot be loaded.
    pub fn loads(&self, module: &str) -> Option<HashSet<String>> {
        const PROGRAM: &str = "my $name = shift; $name =~ s{::}{/}g; \
             open my $out, '>&', \\*STDOUT; open STDOUT, '>', '/dev/null'; \
             require \"$name.pm\"; print $out map { \"$_\\n\" } keys %INC";
        let module = TriedModule::parse(module).ok()?;
        let output = self
            .perl()
            .args(["-e", PROGRAM, &module.name])
            .output()
            .ok()?;
        let package = |name: &str| name.strip_suffix(".pm").map(|name| name.replace('/', "::"));
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let loaded = said.lines().filter_map(package).collect();
        output.status.success().then_some(loaded)
    }

    fn perl(&self) -> Command {
        let mut perl = Command::new(&self.perl);
        for folder in &self.folders {
            perl.arg(format!("-I{}", folder.display()));
        }
        perl
    }

    /// Loads the module once, in forked processes.
    ///
    /// # Errors
    /// The perl cannot be run, or the module cannot be loaded.
    pub fn once(&self, module: &TriedModule) -> Result<ModuleLoad, MemoryError> {
        let said = self.figures(module, 0)?;
        let mut load = ModuleLoad::default();
        let mut lines = 0;
        for line in said.lines() {
            match line.strip_prefix("brought\t") {
                Some(file) => load.brought.push(file.to_owned()),
                None => lines += usize::from(load.read(line).is_some()),
            }
        }
        match lines {
            3 => Ok(load),
            _ => Err(self.no_figure(module)),
        }
    }

    /// Has so many packages use the module in a forked process, after a first one.
    ///
    /// # Errors
    /// The perl cannot be run, or the module cannot be loaded.
    pub fn imports(
        &self,
        module: &TriedModule,
        packages: u32,
    ) -> Result<FurtherImport, MemoryError> {
        let said = self.figures(module, packages)?;
        let read = |line: &str| {
            let words = line.strip_prefix("again\t")?.split('\t');
            let numbers: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
            match numbers[..] {
                [bytes, us, names] => Some(FurtherImport { bytes, us, names }),
                _ => None,
            }
        };
        let mut lines = said.lines();
        lines.find_map(read).ok_or_else(|| self.no_figure(module))
    }

    /// Runs the program; returns its lines.
    fn figures(&self, module: &TriedModule, packages: u32) -> Result<String, MemoryError> {
        let output = self
            .run(module, packages)
            .map_err(|cause| MemoryError::NoPerl {
                perl: self.perl.display().to_string(),
                cause: cause.to_string(),
            })?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut failures = said.lines().filter_map(|it| it.strip_prefix("failure\t"));
        match failures.next() {
            Some(reason) => Err(MemoryError::NotLoaded {
                module: module.text.clone(),
                reason: short(reason),
            }),
            None if output.status.success() => Ok(said),
            None => Err(self.no_figure(module)),
        }
    }

    fn no_figure(&self, module: &TriedModule) -> MemoryError {
        MemoryError::NoFigure {
            perl: self.perl.display().to_string(),
            module: module.text.clone(),
        }
    }

    fn run(&self, module: &TriedModule, packages: u32) -> std::io::Result<Output> {
        let mut child = self
            .perl()
            .arg("-")
            .arg(libc::SYS_clock_gettime.to_string())
            .arg(packages.to_string())
            .args([&module.name, &module.list])
            .args(&self.given)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // A program that is no perl may end without reading.
            match input.write_all(PROGRAM.as_bytes()) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(error),
                _ => {}
            }
        }
        child.wait_with_output()
    }
}

impl ModuleLoad {
    /// Reads a line of the program. `None`: it is no line of figures.
    fn read(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once('\t')?;
        let numbers: Vec<f64> = rest
            .split('\t')
            .map_while(|word| word.parse().ok())
            .collect();
        match (kind, &numbers[..]) {
            ("load", &[bytes, load_us, import_bytes, import_us, names]) => {
                (self.bytes, self.load_us) = (bytes, load_us);
                (self.import_bytes, self.import_us, self.names) = (import_bytes, import_us, names);
            }
            ("unshared", &[unshared]) => self.unshared = unshared,
            ("count", &[ops, subs, xs_subs]) => {
                (self.ops, self.subs, self.xs_subs) = (ops, subs, xs_subs);
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns this less what a trial without a module costs.
    pub fn beyond(&self, nothing: &ModuleLoad) -> ModuleLoad {
        let less = |own: f64, other: f64| (own - other).max(0.0);
        ModuleLoad {
            bytes: less(self.bytes, nothing.bytes),
            load_us: less(self.load_us, nothing.load_us),
            import_bytes: less(self.import_bytes, nothing.import_bytes),
            import_us: less(self.import_us, nothing.import_us),
            names: less(self.names, nothing.names),
            unshared: less(self.unshared, nothing.unshared),
            ops: less(self.ops, nothing.ops),
            subs: less(self.subs, nothing.subs),
            xs_subs: less(self.xs_subs, nothing.xs_subs),
            brought: self.brought.clone(),
        }
    }

    /// Returns the part of the module's memory that stays shared when a forked process compiles a
    /// script that uses the module. `None`: the module takes no memory of its own.
    pub fn stays_shared(&self) -> Option<f64> {
        let all = self.bytes + self.import_bytes;
        (all > 0.0).then(|| (1.0 - self.unshared / all).max(0.0))
    }
}

/// Leaves out the folders in which perl has searched, and the place in the program.
fn short(reason: &str) -> String {
    let end = [" (you may need", " (@INC", " at (eval ", " at - line "];
    let cut = end.iter().filter_map(|text| reason.find(text)).min();
    reason[..cut.unwrap_or(reason.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_after_use_has_a_name_and_a_list() {
        let parsed = |text| TriedModule::parse(text).map(|it| (it.name, it.list));
        let both = |name: &str, list: &str| (name.to_owned(), list.to_owned());
        assert_eq!(parsed("POSIX").expect("a name"), both("POSIX", ""));
        assert_eq!(parsed("POSIX ( );").expect("a name"), both("POSIX", "()"));
        assert_eq!(
            parsed("CGI qw(:all)").expect("a name"),
            both("CGI", "qw(:all)")
        );
        for wrong in ["", "5.36", "a/b.pm::", "::CGI", "A:B", "-x"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn module_is_measured_apart_from_what_a_trial_costs() {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "package Heavy; our $text = 'x' x 3_000_000;\n\
                    sub import { no strict 'refs'; *{caller() . '::heavy'} = \\&heavy } \n\
                    sub heavy { my $n = shift; return $n + 1 }\nsub other { sub { print @_ } }\n1;\n";
        std::fs::write(folder.path().join("Heavy.pm"), text).expect("written");
        let perl = folder.path().join("perl");
        let program = format!(
            "#!/bin/sh\nexec perl -I'{}' \"$@\"\n",
            folder.path().display()
        );
        std::fs::write(&perl, program).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&perl, mode).expect("a mode");
        let trial = ModuleTrial::new(perl);
        let nothing = trial.once(&TriedModule::nothing()).expect("figures");
        let heavy = TriedModule::parse("Heavy").expect("a name");
        let load = trial.once(&heavy).expect("figures").beyond(&nothing);
        // perl keeps the constant and the variable: two copies of the text.
        assert!((2.9e6..7.0e6).contains(&load.bytes), "{load:?}");
        assert_eq!((load.subs, load.names), (4.0, 1.0), "{load:?}");
        assert!(load.ops > 20.0, "{load:?}");
        assert!(load.stays_shared().expect("memory") > 0.9, "{load:?}");
        let loads = trial.loads("Heavy").expect("it loads");
        assert!(
            loads.contains("Heavy") && !loads.contains("POSIX"),
            "{loads:?}"
        );
        let import = |module: &TriedModule| trial.imports(module, 200).expect("figures");
        let without = heavy.without_import().expect("an import");
        assert_eq!(without.text(), "Heavy ()");
        assert_eq!(without.without_import(), None);
        let (with, without) = (import(&heavy), import(&without));
        assert_eq!((with.names, without.names), (1.0, 0.0), "{with:?}");
        assert!(with.bytes < 20e3, "the text is not copied: {with:?}");
        let missing = TriedModule::parse("Heavy::Nowhere").expect("a name");
        let refused = trial.once(&missing).expect_err("there is no such file");
        assert_eq!(
            refused.to_string(),
            "`use Heavy::Nowhere` fails: Can't locate Heavy/Nowhere.pm in @INC"
        );
    }
}
