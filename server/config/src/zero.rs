//! Zero configuration: makes the site of a folder, a PSGI application or a script.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::{AccessLogSettings, Alias, Handler, LogTarget, Preload, Rung, Settings, Site};

/// The reason why a path cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot read `{path}`: {cause}{hint}", path = .0.display(), cause = .1, hint = hint(.0))]
    Unreadable(PathBuf, io::Error),
    #[error(
        "`{path}` cannot be served: expected a folder, an application `*.psgi`, a Perl script \
         (`*.pl`, `*.cgi` or `#!...perl`), or `-f` before a configuration",
        path = .0.display()
    )]
    NotServable(PathBuf),
    #[error("`{path}` is a PSGI application: it runs on no rung, so `--rung {rung}` means nothing", path = .0.display(), rung = .1.name())]
    RungForApplication(PathBuf, Rung),
}

impl Site {
    /// Returns the site for `mehari serve PATH`. Scripts run on `rung`, or on `auto`.
    ///
    /// # Errors
    ///
    /// The path cannot be read, or it is neither a folder nor a Perl program, or a rung is chosen
    /// for a PSGI application.
    pub fn zero(path: &Path, rung: Option<Rung>) -> Result<Site, Error> {
        let unreadable = |error| Error::Unreadable(path.to_path_buf(), error);
        let real = path.canonicalize().map_err(unreadable)?;
        let kind = std::fs::metadata(&real).map_err(unreadable)?;
        let chosen = rung.unwrap_or(Rung::Auto);
        let mut site = Site::defaults();
        site.main.base.handlers.exec_cgi = true;
        site.main.base.programs.parse_headers = true;
        site.logs.access = vec![AccessLogSettings::combined(LogTarget::Stderr)];
        if kind.is_dir() {
            site.main.mapping.document_root = real.clone();
            site.server_root = real;
            site.by_name = Some(chosen);
            let index = ["index.html", "index.pl", "index.cgi"];
            site.main.base.files.directory_index = index.map(String::from).to_vec();
            return Ok(site);
        }
        let folder = real.parent().unwrap_or(Path::new("/")).to_path_buf();
        site.main.base.files.directory_index.clear();
        site.main.mapping.document_root = folder.clone();
        site.server_root = folder;
        site.main.mapping.aliases.push(Alias {
            url: "/".into(),
            matching: None,
            path: real.clone(),
            script: false,
        });
        site.main.base.handlers.set = Some(match rung {
            None if has_suffix(&real, &["psgi"]) => {
                let application = Preload::Psgi(real.clone());
                site.perls[0].preloads.push(application.into());
                Handler::Psgi(real)
            }
            Some(rung) if has_suffix(&real, &["psgi"]) => {
                return Err(Error::RungForApplication(path.to_path_buf(), rung))
            }
            _ if is_script(&real).map_err(unreadable)? => Handler::Script(chosen),
            _ => return Err(Error::NotServable(path.to_path_buf())),
        });
        Ok(site)
    }
}

/// Returns `; did you mean ...?` if nothing stands at the path and a neighbour has a similar name.
fn hint(path: &Path) -> String {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return String::new();
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let read = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let neighbours = std::fs::read_dir(read).into_iter().flatten().flatten();
    let names = neighbours.filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    match crate::nearest(name, names.iter().map(String::as_str)) {
        Some(near) if near != name => {
            format!("; did you mean `{}`?", folder.join(near).display())
        }
        _ => String::new(),
    }
}

fn has_suffix(file: &Path, suffixes: &[&str]) -> bool {
    let suffix = file.extension().and_then(|suffix| suffix.to_str());
    suffix.is_some_and(|suffix| suffixes.contains(&suffix))
}

fn is_script(file: &Path) -> io::Result<bool> {
    if !file.is_file() {
        return Ok(false);
    }
    let mut start = [0u8; 128];
    let mut length = 0;
    let mut opened = File::open(file)?;
    while length < start.len() {
        match opened.read(&mut start[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(has_suffix(file, &["pl", "cgi"]) || Settings::is_perl_shebang(&start[..length]))
}

impl Settings {
    /// Tells whether a file that begins with `start` names perl in its first line, as in
    /// `#!/usr/bin/perl` or `#!/usr/bin/env perl`.
    pub fn is_perl_shebang(start: &[u8]) -> bool {
        let line = start
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let Some(command) = line.strip_prefix(b"#!") else {
            return false;
        };
        let command = String::from_utf8_lossy(command);
        let programs = command.split_whitespace().take(2);
        programs
            .map(|word| word.rsplit('/').next().unwrap_or_default())
            .any(|name| name.starts_with("perl"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::write;

    #[test]
    fn a_folder_runs_its_scripts_on_auto_or_the_named_rung() {
        let folder = tempfile::tempdir().expect("a folder");
        let site = Site::zero(folder.path(), None).expect("a site");
        assert_eq!(site.by_name, Some(Rung::Auto));
        assert_eq!(
            site.main.base.files.directory_index,
            ["index.html", "index.pl", "index.cgi"]
        );
        assert!(site.main.base.handlers.exec_cgi && site.listen.is_empty());
        let site = Site::zero(folder.path(), Some(Rung::Fork)).expect("a site");
        assert_eq!(site.by_name, Some(Rung::Fork));
    }

    #[test]
    fn an_application_answers_everything_and_is_preloaded() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder
            .path()
            .canonicalize()
            .expect("a path")
            .join("app.psgi");
        write(&file, "sub {}").expect("written");
        let site = Site::zero(&file, None).expect("a site");
        let settings = site.main.settings("/any/where", None);
        assert_eq!(settings.handlers.set, Some(Handler::Psgi(file.clone())));
        assert_eq!(site.perl().preloads, [Preload::Psgi(file.clone()).into()]);
        assert!(matches!(
            Site::zero(&file, Some(Rung::Cgi)),
            Err(Error::RungForApplication(..))
        ));
    }

    #[test]
    fn a_script_answers_every_path_and_gets_the_path_as_path_info() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().canonicalize().expect("a path").join("hello");
        write(&file, "#!/usr/bin/env perl\nprint 1;").expect("written");
        let site = Site::zero(&file, Some(Rung::Registry)).expect("a site");
        assert_eq!(
            site.main.base.handlers.set,
            Some(Handler::Script(Rung::Registry))
        );
        assert_eq!(site.main.mapping.map("/a/b").file, file.join("a/b"));
        assert_eq!(site.main.mapping.map("/a/b").root(), file);
    }

    #[test]
    fn a_file_without_perl_code_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("page.html");
        write(&file, "<p>").expect("written");
        assert!(matches!(
            Site::zero(&file, None),
            Err(Error::NotServable(_))
        ));
        let missing = folder.path().join("missing");
        assert!(matches!(
            Site::zero(&missing, None),
            Err(Error::Unreadable(..))
        ));
    }
}
