//! Collects the files, the configuration and the arguments of a server under test.

use super::Server;
use crate::hosts;
use crate::log::Log;
use crate::prefix;
use crate::site::Site;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server that is not started yet.
#[derive(Default)]
pub struct Builder {
    pub(crate) site: Site,
    pub(crate) conf: Option<String>,
    pub(crate) path: Option<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) no_listen: bool,
    /// Another program in place of mehari, for tests of the harness.
    pub(crate) program: Option<PathBuf>,
    /// Log lines that would otherwise fail the test.
    pub(crate) expected: Vec<String>,
    pub(crate) leaves_processes: bool,
    /// Whether Apache and mod_perl get the configuration instead of Mehari.
    pub(crate) on_apache: bool,
    pub(crate) own_hosts: bool,
    /// The program that starts the server, with its arguments.
    pub(crate) prefix: Vec<String>,
}

impl Builder {
    /// Adds configuration in the language of httpd.conf. `@ROOT@` stands for the folder of the
    /// site.
    pub fn conf(mut self, text: &str) -> Builder {
        let text = text.replace("@ROOT@", &self.site.root().to_string_lossy());
        self.conf.get_or_insert_with(String::new).push_str(&text);
        self
    }

    /// Serves the scripts in the site's folder `scripts` on all rungs, each rung under its name.
    pub fn ladder(self) -> Builder {
        let text = crate::rungs::ladder(&self.site.path("scripts"));
        self.conf(&text)
    }

    /// Serves a folder, a script or a PSGI file of the site without configuration: `mehari serve
    /// PATH`.
    pub fn dir(mut self, name: &str) -> Builder {
        self.path = Some(self.site.path(name).to_string_lossy().into_owned());
        self
    }

    /// Copies a folder of fixtures into the site's folder `scripts`.
    pub fn fixtures(self, name: &str) -> Builder {
        self.site.copy(name, "scripts");
        self
    }

    /// Prepares the site of a real program: copies `tests/programs/NAME` into the site and uses its
    /// `site.conf`.
    pub fn program_site(self, name: &str) -> Builder {
        self.program_site_with(name, &[], &[])
    }

    /// Does the same as `program_site`, and replaces words such as `@DSN@` in the named files.
    pub fn program_site_with(self, name: &str, files: &[&str], words: &[(&str, &str)]) -> Builder {
        self.site
            .copy_from(&crate::binary::program_folder(name), ".");
        self.fill_in(files, words).conf_file("site.conf")
    }

    /// Replaces words in files of the site. `@ROOT@` is replaced by the folder of the site.
    pub fn fill_in(self, files: &[&str], words: &[(&str, &str)]) -> Builder {
        let root = self.site.root().to_string_lossy().into_owned();
        for file in files {
            let mut text = self.site.read(file);
            for (word, value) in words {
                text = text.replace(word, value);
            }
            self.site.write(file, &text.replace("@ROOT@", &root));
        }
        self
    }

    fn conf_file(self, name: &str) -> Builder {
        let text = self.site.read(name);
        self.conf(&text)
    }

    /// Copies a folder into the site unchanged.
    pub fn copied(self, folder: impl AsRef<Path>, into: &str) -> Builder {
        self.site.copy_from(folder.as_ref(), into);
        self
    }

    /// Copies a folder of an installed package into the site, and unpacks compressed files.
    pub fn package(self, folder: &str, into: &str) -> Builder {
        let copied = self.copied(folder, into);
        copied.site.unpack(into);
        copied
    }

    /// Makes an empty folder to which every user may write.
    pub fn folder(self, name: &str) -> Builder {
        self.site.folder_for_all(name);
        self
    }

    /// Returns the path of a folder in the site, for a test that fills the folder.
    pub fn folder_of(&self, name: &str) -> PathBuf {
        self.site.path(name)
    }

    pub fn file(self, name: &str, text: &str) -> Builder {
        self.site.write(name, text);
        self
    }

    pub fn args(mut self, words: &[&str]) -> Builder {
        self.arguments
            .extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Builder {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the server without `--listen`, for tests of the address.
    pub fn without_listen(mut self) -> Builder {
        self.no_listen = true;
        self
    }

    pub fn program(mut self, path: impl Into<PathBuf>) -> Builder {
        self.program = Some(path.into());
        self
    }

    /// Starts the server by another program, which gets the server's command line after `words` and
    /// executes it.
    pub fn started_by(mut self, words: &[&str]) -> Builder {
        self.prefix = words.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// Allows an `[alert]`, an `[emerg]` or a panic with these words in the log.
    pub fn expect_alert(mut self, words: &str) -> Builder {
        self.expected.push(words.to_owned());
        self
    }

    /// Allows processes to remain: the test's scripts detach children on purpose, and the test ends
    /// them.
    pub fn leaves_processes(mut self) -> Builder {
        self.leaves_processes = true;
        self
    }

    /// Starts Apache with mod_perl in place of Mehari, for a comparison.
    pub fn on_apache(mut self) -> Builder {
        self.site.open_to_all();
        self.on_apache = true;
        self
    }

    pub fn start(self) -> Server {
        match self.try_start() {
            Ok(server) => server,
            Err(log) => panic!("the server did not start:\n{}", log.text()),
        }
    }

    /// Starts the server. Returns the log if the server fails to start.
    pub fn try_start(self) -> Result<Server, Log> {
        Server::launch(self)
    }

    /// Gives the server a hosts file of its own. See [`hosts::are_possible`].
    pub fn hosts(mut self, text: &str, others: hosts::Others) -> Builder {
        hosts::write(&self.site, text, others);
        self.own_hosts = true;
        self
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = self.plain_command();
        if !self.prefix.is_empty() {
            let words: Vec<&str> = self.prefix.iter().map(String::as_str).collect();
            command = prefix::before(&command, &words);
        }
        if self.own_hosts {
            command = hosts::around(&command, &self.site);
        }
        command
    }

    fn plain_command(&self) -> Command {
        let root = self.site.root();
        if self.on_apache || crate::against_apache() {
            return crate::httpd::command(&self.site, self.conf.as_deref().unwrap_or_default());
        }
        let program = self.program.clone();
        let mut command = Command::new(program.unwrap_or_else(crate::binary::mehari));
        command.arg("serve");
        if let Some(path) = &self.path {
            command.arg(path);
        }
        if let Some(text) = &self.conf {
            let text = format!(
                "ServerRoot {}\nDocumentRoot {}\n{text}",
                root.display(),
                self.site.path("htdocs").display(),
            );
            command.arg("-f").arg(self.site.write("httpd.conf", &text));
        }
        if !self.no_listen {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command.arg("--control").arg(self.site.path("control"));
        if let (Ok(number), true) = (std::env::var("FRONT_THREADS"), self.leaves("FrontThreads")) {
            command.args(["-c", &format!("FrontThreads {number}")]);
        }
        // A slow machine would otherwise look overloaded in tests that concern something else.
        if self.leaves("WorkerQueueTarget") {
            command.args(["-c", "WorkerQueueTarget Off"]);
        }
        command.args(&self.arguments).current_dir(root);
        // Variables of the tester's shell must not affect tests.
        for name in ["PORT", "WEB_CONCURRENCY", "LANG", "LC_ALL", "LC_CTYPE"] {
            command.env_remove(name);
        }
        command
    }

    /// Returns whether the harness may set this directive: the test has a configuration that does
    /// not.
    fn leaves(&self, directive: &str) -> bool {
        let conf = self.conf.as_deref();
        conf.is_some_and(|conf| !conf.contains(directive))
    }
}
