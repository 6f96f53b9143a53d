//! `mehari serve`: reads the configuration, binds the addresses, loads the first generation, prints
//! the ready line, and serves.

use crate::cli::{arguments, certificate, foreign};
use clap::Parser;
use mehari_config::{AccessFormat, CertificateFiles, Host, Listen, Rung, Site};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod certificates;
pub mod checks;
mod control;
mod exact;
mod exact_reports;
pub mod identity;
pub mod inherited;
mod journal;
mod keeper;
mod launchers;
mod listen;
mod managed;
mod other_tools;
mod predecessor;
mod profiling;
pub mod questions;
mod reload;
pub mod remains;
mod run;
mod service_manager;
mod signals;
mod sources;
mod tracing;
mod upgrade;
mod watch;
mod watching;

use other_tools::OTHER_TOOLS;
pub use upgrade::path as program_path;

#[derive(Parser, Debug, Clone)]
#[command(
    name = "mehari serve",
    about = "Serves a folder, a script, a PSGI application or a configuration",
    after_help = "Examples:\n  mehari serve demo\n  mehari serve app.psgi -p 5000 -I lib -E development --watch\n  mehari serve app.psgi --workers 8\n  mehari serve -f httpd.conf --listen 0.0.0.0:80\n\n\
                  When the server is ready, it prints one line with its addresses to stdout.\n\n\
                  Signals:\n  TERM, QUIT  finish the running requests and stop\n  INT         stop at once\n  \
                  HUP         read the configuration again and start new workers, as `mehari reload`\n  \
                  USR2        replace the running program by its new file, as `mehari upgrade`\n  \
                  USR1        reopen the logs"
)]
pub struct Options {
    /// A folder, a script or an application file (.psgi). By default: `app.psgi` in the current
    /// folder, or the current folder if it has no such file.
    #[arg(value_name = "PATH", conflicts_with = "conf")]
    path: Option<PathBuf>,
    /// A configuration file, in the language of Apache's httpd.conf.
    #[arg(short = 'f', value_name = "CONF")]
    conf: Option<PathBuf>,
    /// Define a name for <IfDefine> and ${NAME}.
    #[arg(short = 'D', value_name = "NAME[=VALUE]", requires = "conf")]
    define: Vec<String>,
    /// A line to read after the configuration, as with httpd's -c; may be repeated.
    #[arg(short = 'c', value_name = "DIRECTIVE", requires = "conf")]
    line: Vec<String>,
    /// The address to listen on: host:port, https://host:port, unix:/path, or a port alone for
    /// every address of the machine. Port 0 means any free port [default: the configuration's
    /// Listen, else 0.0.0.0:$PORT, else 127.0.0.1:8080]
    #[arg(short = 'l', long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// The port to listen on, on every address of the machine, as with --listen PORT.
    #[arg(short = 'p', long, value_name = "PORT")]
    port: Option<u16>,
    /// A folder of Perl modules, as with `PerlSwitches -I`; may be repeated.
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// The value of PLACK_ENV for the application [default: PLACK_ENV of this environment]
    #[arg(short = 'E', long, value_name = "NAME")]
    env: Option<String>,
    /// A PEM file with a certificate and its key [default: a certificate for localhost, which the
    /// first use of https:// makes]
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Serve this host name over HTTPS; may be repeated. The authority signs the certificate, and
    /// the server renews it. The option accepts the authority's terms of service. The server
    /// listens on the ports 80 and 443.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["conf", "certificate"])]
    domain: Vec<String>,
    /// The directory URL of the authority that signs certificates (ACME) [default: Let's Encrypt's]
    #[arg(long, value_name = "URL", requires = "domain")]
    authority: Option<String>,
    /// A PEM file with the root certificates by which the authority's own server is verified.
    #[arg(long, value_name = "FILE", requires = "domain")]
    authority_roots: Option<PathBuf>,
    /// Become this user if root starts the server, as with the directive `User`.
    #[arg(long, value_name = "NAME", conflicts_with = "conf")]
    user: Option<String>,
    /// The number of workers, or `auto` [default: the configuration's number, else
    /// $WEB_CONCURRENCY, else auto]
    #[arg(long, value_name = "N|auto")]
    workers: Option<String>,
    /// The rung of scripts, which is how they run: cgi, fork, rewind, perlrun, registry or auto
    /// [default: auto]
    #[arg(long, value_name = "RUNG", conflicts_with = "conf")]
    rung: Option<String>,
    /// Pass this variable of the environment to Perl, as with the directive `PerlPassEnv`; may be
    /// repeated.
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// A file to remove when the server ends.
    #[arg(long, value_name = "FILE", hide = true)]
    temporary: Option<PathBuf>,
    /// Reload when the configuration, a loaded module, a template or a settings file changes. If
    /// the first load fails, a change makes the server try again.
    #[arg(long)]
    watch: bool,
    /// Whether the service manager supplies the sockets.
    #[arg(skip)]
    sockets_given: bool,
    /// The program with its arguments, for an upgrade.
    #[arg(skip)]
    program: upgrade::Program,
    /// The control socket of `mehari reload|stop|status` [default: PORT.sock in this user's folder]
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let program = upgrade::Program::started_with(&arguments);
    if let Some(hint) = foreign::hint(OTHER_TOOLS, &arguments) {
        eprintln!("mehari serve: {hint}");
        return ExitCode::from(2);
    }
    let mut options = match arguments::parse::<Options>("mehari serve", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let application = Path::new("app.psgi");
    if options.conf.is_none() && options.path.is_none() && application.is_file() {
        options.path = Some(application.to_path_buf());
    }
    let temporary = options.temporary.clone();
    let ended = match inherited::Inheritance::take() {
        Ok(inheritance) => start(
            Options {
                sockets_given: inheritance.has_manager(),
                program,
                ..options
            },
            inheritance,
        ),
        Err(reason) => Err(Refusal::Site(format!("mehari serve: {reason}"))),
    };
    // The process that has replaced this one goes on to use the file.
    if let (Some(file), false) = (temporary, matches!(ended, Ok(run::Ended::Replaced))) {
        let _ = std::fs::remove_file(file);
    }
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(Refusal::Usage(text)) => {
            eprintln!("mehari serve: {text}");
            ExitCode::from(2)
        }
        Err(Refusal::Site(text) | Refusal::Machine(text)) => {
            eprintln!("{}", text.trim_end());
            ExitCode::from(1)
        }
    }
}

/// Serves. If this process was to replace a running server and does not start, reports the reason
/// to that server.
fn start(options: Options, inheritance: inherited::Inheritance) -> Result<run::Ended, Refusal> {
    let predecessor = inheritance.channel.map(predecessor::Predecessor::new);
    let mut sockets = inheritance.sockets;
    // Inherited sockets are gone after the first try.
    let may_wait = options.watch && predecessor.is_none() && sockets.is_empty();
    let ended = loop {
        let mut first = may_wait.then(|| watch::FirstLoad::of(&options, None));
        let ended = options.site().and_then(|site| {
            first = may_wait.then(|| watch::FirstLoad::of(&options, Some(&site)));
            let sockets = std::mem::take(&mut sockets);
            run::serve(options.clone(), site, sockets, predecessor.as_ref())
        });
        let (Err(Refusal::Site(text)), Some(first)) = (&ended, first) else {
            break ended;
        };
        eprintln!("{}", text.trim_end());
        if !first.wait().map_err(Refusal::Machine)? {
            break Ok(run::Ended::Stopped);
        }
    };
    if let (Some(predecessor), Err(refusal)) = (&predecessor, &ended) {
        predecessor.report_failure(refusal.text());
    }
    ended
}

/// Why there is nothing to serve.
pub enum Refusal {
    Usage(String),
    /// The configuration, or what it loads. A change of the files may mend it.
    Site(String),
    /// The path, the machine or the user.
    Machine(String),
}

impl Refusal {
    fn text(&self) -> &str {
        match self {
            Refusal::Usage(text) | Refusal::Site(text) | Refusal::Machine(text) => text,
        }
    }
}

impl From<String> for Refusal {
    fn from(reason: String) -> Refusal {
        Refusal::Machine(format!("mehari serve: {reason}"))
    }
}

impl Options {
    /// Reads the configuration again and adds the command line and the environment.
    pub fn site(&self) -> Result<Site, Refusal> {
        let rung = self.rung.as_deref().map(rung).transpose()?;
        let mut site = match &self.conf {
            Some(conf) => Site::load_with_lines(
                conf,
                &self.define,
                &self.line,
                &mut mehari_pool::Configurator::default(),
            )
            .map_err(|problems| Refusal::Site(problems.to_string()))?,
            None => {
                let path = self.path.clone().unwrap_or_else(|| PathBuf::from("."));
                Site::zero(&path, rung).map_err(|error| Refusal::from(error.to_string()))?
            }
        };
        if self.conf.is_none() && mehari_observe::is_on_terminal() {
            for log in &mut site.logs.access {
                log.format = AccessFormat::Terminal;
            }
        }
        self.apply_perl(&mut site)?;
        self.apply_workers(&mut site)?;
        self.apply_domains(&mut site)?;
        let wanted = self.addresses();
        site.any_port = !wanted.is_empty() || site.listen.is_empty();
        if !wanted.is_empty() {
            site.listen = wanted.iter().map(|text| Listen::parse(text)).collect();
        } else if site.listen.is_empty() && !self.sockets_given {
            let address = match std::env::var("PORT") {
                Ok(port) => match port.parse::<u16>() {
                    Ok(port) => format!("0.0.0.0:{port}"),
                    Err(_) => {
                        return Err(Refusal::Usage(format!(
                            "PORT is `{port}`; expected a number from 0 to 65535"
                        )))
                    }
                },
                Err(_) if !self.domain.is_empty() => "http://*:80".to_owned(),
                Err(_) => "127.0.0.1:8080".to_owned(),
            };
            site.listen.push(Listen::parse(&address));
            if !self.domain.is_empty() {
                site.listen.push(Listen::parse("https://*:443"));
            }
        }
        self.apply_certificate(&mut site)?;
        Ok(site)
    }

    /// Returns the addresses of `--listen` and `--port`. As in `Listen`, a port alone means all
    /// addresses of the machine.
    fn addresses(&self) -> Vec<String> {
        let port = self.port.map(|port| port.to_string());
        let every = |text: &String| {
            let port = text.strip_prefix(':').unwrap_or(text);
            match port.parse::<u16>() {
                Ok(port) => format!("*:{port}"),
                Err(_) if text.starts_with('/') => format!("unix:{text}"),
                Err(_) => text.clone(),
            }
        };
        self.listen.iter().chain(&port).map(every).collect()
    }

    /// Applies `--domain` and what belongs to it, and `--user`.
    fn apply_domains(&self, site: &mut Site) -> Result<(), Refusal> {
        if self.user.is_some() {
            site.process.user.clone_from(&self.user);
        }
        if self.domain.is_empty() {
            return Ok(());
        }
        let refused = |why: String| Refusal::Usage(format!("--domain: {why}"));
        let names = self
            .domain
            .iter()
            .map(|name| mehari_config::managed_name(name));
        let mut names = names.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let mut known = std::collections::HashSet::new();
        names.retain(|name| known.insert(name.clone()));
        let authority = &mut site.managed.authority;
        authority.is_agreed = true;
        if let Some(url) = &self.authority {
            let expected = || Refusal::Usage(format!("--authority {url}: expected https://..."));
            authority.directory = mehari_config::authority_url(url).ok_or_else(expected)?;
        }
        if let Some(file) = &self.authority_roots {
            let absolute = std::path::absolute(file);
            authority.roots = Some(absolute.unwrap_or_else(|_| file.clone()));
        }
        site.managed.store = certificate::folder().map_err(Refusal::Usage)?.join("md");
        site.manage_main(names);
        Ok(())
    }

    /// Applies `-I`, `--env`, `--pass-env` and `--watch` to every Perl of the site.
    fn apply_perl(&self, site: &mut Site) -> Result<(), Refusal> {
        let mut switches = Vec::new();
        for folder in &self.include {
            let path = std::path::absolute(folder)
                .ok()
                .filter(|path| path.is_dir())
                .ok_or_else(|| {
                    let folder = folder.display();
                    Refusal::Usage(format!("-I {folder}: expected a folder of Perl modules"))
                })?;
            switches.push(format!("-I{}", path.display()));
        }
        for perl in &mut site.perls {
            perl.is_watched = self.watch;
            perl.switches.extend(switches.iter().cloned());
            perl.pass_env.extend(self.pass_env.iter().cloned());
            let env = self.env.iter();
            perl.set_env
                .extend(env.map(|name| ("PLACK_ENV".to_owned(), name.clone())));
        }
        Ok(())
    }

    /// Applies `--certificate`. If no host has a certificate but `--listen` names an `https://`
    /// address, uses the user's certificate for localhost.
    fn apply_certificate(&self, site: &mut Site) -> Result<(), Refusal> {
        let own = |file: PathBuf| CertificateFiles {
            certificate: file,
            key: None,
        };
        if let Some(file) = &self.certificate {
            site.main.tls.certificates = vec![own(file.clone())];
        }
        let has_one = |host: &Host| host.tls.has_certificate();
        let asked = |text: &String| text.starts_with("https://");
        if !site.all_hosts().any(has_one) && self.listen.iter().any(asked) {
            let file = certificate::local().map_err(Refusal::Usage)?;
            site.main.tls.certificates.push(own(file));
        }
        Ok(())
    }

    /// Applies `--workers`. Without the option, applies WEB_CONCURRENCY if the configuration sets
    /// no number of workers.
    fn apply_workers(&self, site: &mut Site) -> Result<(), Refusal> {
        let (word, source) = match (&self.workers, std::env::var("WEB_CONCURRENCY")) {
            (Some(word), _) => (word.clone(), "--workers"),
            (None, Ok(word)) if site.workers().max.is_none() && site.workers().start.is_none() => {
                (word, "WEB_CONCURRENCY")
            }
            _ => return Ok(()),
        };
        if word == "auto" {
            let workers = site.workers_mut();
            (workers.start, workers.max) = (None, None);
            return Ok(());
        }
        let number = word
            .parse::<u32>()
            .ok()
            .filter(|number| (1..=1000).contains(number));
        let Some(number) = number else {
            return Err(Refusal::Usage(format!(
                "{source} is `{word}`; expected `auto` or a number from 1 to 1000"
            )));
        };
        let workers = site.workers_mut();
        (workers.start, workers.max) = (Some(number), Some(number));
        Ok(())
    }
}

fn rung(word: &str) -> Result<Rung, Refusal> {
    Rung::named(word).ok_or_else(|| {
        let names: Vec<&str> = Rung::ALL.iter().map(|rung| rung.name()).collect();
        let hint = mehari_config::nearest(word, names.iter().copied())
            .map(|name| format!("; did you mean `{name}`?"))
            .unwrap_or_default();
        Refusal::Usage(format!(
            "there is no rung `{word}`; expected one of {}{hint}",
            names.join(", ")
        ))
    })
}
