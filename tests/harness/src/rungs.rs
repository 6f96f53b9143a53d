//! Lists the rungs and writes their configuration.

use std::path::Path;

/// How a script runs. See docs/explanation/ladder.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rung {
    Cgi,
    Fork,
    Rewind,
    PerlRun,
    Registry,
    Auto,
}

impl Rung {
    pub const ALL: [Rung; 6] = [
        Rung::Cgi,
        Rung::Fork,
        Rung::Rewind,
        Rung::PerlRun,
        Rung::Registry,
        Rung::Auto,
    ];

    /// The rungs with one process per request.
    pub const ISOLATED: [Rung; 3] = [Rung::Cgi, Rung::Fork, Rung::Rewind];

    /// The rungs that share an interpreter between requests.
    pub const SHARED: [Rung; 2] = [Rung::PerlRun, Rung::Registry];

    /// Returns the rung's name, which is the first segment of the URLs that [`Rung::section`] maps.
    pub fn name(self) -> &'static str {
        match self {
            Rung::Cgi => "cgi",
            Rung::Fork => "fork",
            Rung::Rewind => "rewind",
            Rung::PerlRun => "perlrun",
            Rung::Registry => "registry",
            Rung::Auto => "auto",
        }
    }

    pub fn url(self, script: &str) -> String {
        format!("/{}/{script}", self.name())
    }

    /// Returns configuration that serves the scripts of `folder` under `/NAME/` on this rung.
    pub fn section(self, folder: &Path) -> String {
        let name = self.name();
        format!(
            "Alias /{name}/ {}/\n<Location /{name}/>\n{}    Options +ExecCGI\n    Require all granted\n</Location>\n",
            folder.display(),
            self.handler()
        )
    }

    /// Returns the configuration of the handler for Apache. For a rung that Apache lacks, Apache
    /// starts a process for each request.
    fn handler(self) -> &'static str {
        match self {
            Rung::Cgi => CGI,
            Rung::Fork | Rung::Rewind | Rung::Auto if crate::against_apache() => CGI,
            Rung::Fork => "    SetHandler perl-script\n    PerlResponseHandler Mehari::Fork\n    PerlOptions +ParseHeaders\n",
            Rung::Rewind => "    SetHandler perl-script\n    PerlResponseHandler Mehari::Rewind\n    PerlOptions +ParseHeaders\n",
            Rung::PerlRun => "    SetHandler perl-script\n    PerlResponseHandler ModPerl::PerlRun\n    PerlOptions +ParseHeaders\n",
            Rung::Registry => "    SetHandler perl-script\n    PerlResponseHandler ModPerl::Registry\n    PerlOptions +ParseHeaders\n",
            Rung::Auto => "    SetHandler perl-script\n    PerlResponseHandler Mehari::Auto\n    PerlOptions +ParseHeaders\n",
        }
    }
}

const CGI: &str = "    SetHandler cgi-script\n";

/// Returns configuration that serves the scripts of one folder on all rungs.
pub fn ladder(folder: &Path) -> String {
    Rung::ALL.iter().map(|rung| rung.section(folder)).collect()
}
