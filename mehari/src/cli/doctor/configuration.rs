//! The configuration that is examined: the site, and where its lines stand.

use super::advice::{ChangeKind, ProposedChange};
use mehari_config::Site;
use std::path::{Path, PathBuf};

/// A line as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigurationLine {
    pub file: PathBuf,
    pub number: u32,
    pub text: String,
    /// How many sections the line stands in.
    depth: u32,
}

pub struct Configuration {
    pub site: Site,
    /// The file of `-f`. `None`: the server serves a folder or a file without a configuration.
    pub conf: Option<PathBuf>,
    pub define: Vec<String>,
    /// The lines of `-c`.
    pub line: Vec<String>,
    /// What a server without a configuration serves.
    pub path: Option<PathBuf>,
    lines: Vec<ConfigurationLine>,
}

impl Configuration {
    /// Reads the configuration again, as a server with these words would.
    ///
    /// # Errors
    /// The problems of the configuration.
    pub fn read(
        conf: Option<PathBuf>,
        define: Vec<String>,
        line: Vec<String>,
        path: Option<PathBuf>,
    ) -> Result<Configuration, String> {
        let site = match (&conf, &path) {
            (Some(conf), _) => {
                let mut perl = mehari_pool::Configurator::default();
                Site::load_with_lines(conf, &define, &line, &mut perl)
                    .map_err(|problems| problems.to_string())?
            }
            (None, path) => {
                let path = path.clone().unwrap_or_else(|| PathBuf::from("."));
                Site::zero(&path, None).map_err(|error| error.to_string())?
            }
        };
        Ok(Configuration {
            lines: lines(&site.source.tree),
            site,
            conf,
            define,
            line,
            path,
        })
    }

    /// Returns all lines of a directive, whatever the case of its name.
    pub fn all(&self, directive: &str) -> Vec<&ConfigurationLine> {
        let lines = self.lines.iter();
        lines.filter(|line| line.is(directive)).collect()
    }

    /// Returns the last line of a directive outside of sections.
    pub fn find(&self, directive: &str) -> Option<&ConfigurationLine> {
        let mut lines = self.lines.iter().rev();
        lines.find(|line| line.depth == 0 && line.is(directive))
    }

    /// Proposes a text for a directive: in place of its line, or as a new line.
    pub fn set(&self, directive: &str, new: &str) -> ProposedChange {
        match self.find(directive) {
            Some(line) => ProposedChange::replace(&line.file, line.number, &line.text, new),
            None => self.add(&[], new),
        }
    }

    /// Proposes a new line, behind the last line of one of these directives, or behind the last
    /// line of the first file outside of sections.
    pub fn add(&self, behind: &[&str], new: &str) -> ProposedChange {
        let outside = || self.lines.iter().rev().filter(|line| line.depth == 0);
        let is_behind =
            |line: &&ConfigurationLine| behind.iter().any(|directive| line.is(directive));
        let conf = self.conf.as_deref();
        let is_first_file = |line: &&ConfigurationLine| conf == Some(line.file.as_path());
        let line = outside()
            .find(is_behind)
            .or_else(|| outside().find(is_first_file));
        ProposedChange {
            file: line.map(|line| line.file.clone()).or(self.conf.clone()),
            line: line.map_or(0, |line| line.number),
            kind: ChangeKind::Insert,
            old: String::new(),
            new: new.to_owned(),
        }
    }

    /// Returns the perl of the main server.
    pub fn perl(&self) -> &Path {
        &self.site.perl().interpreter
    }

    /// Returns the folders of `PerlSwitches -I`.
    pub fn perl_folders(&self) -> Vec<PathBuf> {
        let switches = self.site.perl().switches.iter();
        let folders = switches.filter_map(|switch| switch.strip_prefix("-I"));
        folders.map(PathBuf::from).collect()
    }
}

impl ConfigurationLine {
    fn is(&self, directive: &str) -> bool {
        let word = self.text.split_whitespace().next().unwrap_or_default();
        word.eq_ignore_ascii_case(directive)
    }
}

/// Reads the lines of `Source::tree`: file, number and text with tabs between.
fn lines(tree: &str) -> Vec<ConfigurationLine> {
    let mut depth = 0;
    let mut read = Vec::new();
    for line in tree.lines() {
        let mut parts = line.splitn(3, '\t');
        let (Some(file), Some(number), Some(text)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if text.starts_with("</") {
            depth -= 1;
        }
        read.push(ConfigurationLine {
            file: PathBuf::from(file),
            number: number.parse().unwrap_or_default(),
            text: text.trim().to_owned(),
            depth: u32::try_from(depth).unwrap_or_default(),
        });
        if text.starts_with('<') && !text.starts_with("</") {
            depth += 1;
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(text: &str) -> (tempfile::TempDir, Configuration) {
        let folder = tempfile::tempdir().expect("a folder");
        let conf = folder.path().join("httpd.conf");
        std::fs::write(&conf, text).expect("written");
        let read = Configuration::read(Some(conf), Vec::new(), Vec::new(), None);
        (folder, read.expect("a configuration"))
    }

    #[test]
    fn changes_name_the_line_of_the_directive_or_the_place_of_a_new_one() {
        let text = "DocumentRoot .\nPerlModule POSIX\nhostnamelookups On\n<Location /a>\nDirectoryIndex x\n</Location>\n";
        let (_folder, read) = configuration(text);
        let change = read.set("HostnameLookups", "HostnameLookups Off");
        assert_eq!((change.line, change.kind), (3, ChangeKind::Replace));
        assert_eq!(change.old, "hostnamelookups On");
        let change = read.add(&["PerlModule"], "PerlModule CGI");
        assert_eq!((change.line, change.kind), (2, ChangeKind::Insert));
        assert_eq!(
            read.find("DirectoryIndex"),
            None,
            "the line stands in a section"
        );
        assert_eq!(read.all("DirectoryIndex")[0].number, 5);
        assert_eq!(read.set("DirectoryIndex", "DirectoryIndex y").line, 6);
    }
}
