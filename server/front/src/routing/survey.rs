//! Surveys what a site would serve: the handlers of the files below each URL path, and the problems
//! of .htaccess files. `mehari check` prints both.
//!
//! The survey asks the router for each file, as a request would. Rules and Perl's handlers do not
//! run.

use super::htaccess::HtaccessTable;
use super::places::{place, Silent};
use mehari_config::{Handler, Host, PassFrom, Problem, Scope, Site};
use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The most files and folders that a survey visits.
const MOST_VISITED: usize = 20_000;
/// The deepest folder that a survey visits.
const DEEPEST: usize = 32;

/// What a site serves.
#[derive(Debug, Default)]
pub struct Survey {
    pub rows: Vec<SurveyedPlace>,
    /// The problems of the .htaccess files. Requests below such a file are answered with 500.
    pub problems: Vec<Problem>,
    /// Whether the site has more files than the survey visits.
    pub is_partial: bool,
}

/// The files below a URL path that have the same handler.
#[derive(Debug, PartialEq)]
pub struct SurveyedPlace {
    /// The number of the host in the site.
    pub host: u32,
    /// The URL path: `/`, or that of an `Alias`, a `<Location>` or a `ProxyPass`.
    pub url_path: String,
    /// The folder to which the URL path leads.
    pub folder: Option<PathBuf>,
    /// The handler, or why requests are refused.
    pub handler: Result<Handler, String>,
    /// The number of files with this handler.
    pub files: usize,
    /// The URL path of the first of these files.
    pub example: String,
}

/// Surveys the given hosts of a site.
pub fn survey(site: &Site, hosts: &[u32]) -> Survey {
    surveyed(site, hosts, true)
}

/// Returns the problems of the .htaccess files only. The site's configuration may have problems of
/// its own, because the router is not asked.
pub fn htaccess_problems(site: &Site, hosts: &[u32]) -> Vec<Problem> {
    surveyed(site, hosts, false).problems
}

fn surveyed(site: &Site, hosts: &[u32], asks_router: bool) -> Survey {
    let mut surveyor = Surveyor {
        site,
        asks_router,
        htaccess: HtaccessTable::new(Rc::new(Silent)),
        visited: 0,
        read: HashSet::new(),
        survey: Survey::default(),
    };
    for number in hosts {
        surveyor.host(site.host(*number));
    }
    surveyor.survey
}

struct Surveyor<'s> {
    site: &'s Site,
    /// Whether the survey asks the router for the handlers.
    asks_router: bool,
    htaccess: HtaccessTable,
    visited: usize,
    /// The .htaccess files that have been read.
    read: HashSet<PathBuf>,
    survey: Survey,
}

/// A folder tree below a URL path, and what has been found there.
struct Tree<'h> {
    host: &'h Host,
    url_path: String,
    root: PathBuf,
    /// The device and inode numbers of the visited folders, because links may lead in circles.
    folders: HashSet<(u64, u64)>,
    rows: Vec<SurveyedPlace>,
    /// The index of a row by its handler in words.
    known: HashMap<String, usize>,
}

impl Surveyor<'_> {
    fn host(&mut self, host: &Host) {
        let aliases = host.mapping.aliases.iter();
        let aliases = aliases.filter(|alias| alias.matching.is_none());
        let roots = aliases.map(|alias| (alias.url.as_str(), &alias.path));
        for (url_path, root) in roots.chain([("/", &host.mapping.document_root)]) {
            let mut tree = Tree {
                host,
                url_path: url_path.to_owned(),
                root: root.clone(),
                folders: HashSet::new(),
                rows: Vec::new(),
                known: HashMap::new(),
            };
            self.visit(&mut tree, root, 0);
            self.survey.rows.append(&mut tree.rows);
        }
        if !self.asks_router {
            return;
        }
        for url_path in chosen_paths(host) {
            self.location(host, url_path);
        }
    }

    /// Adds the handler of a URL path that needs no file.
    fn location(&mut self, host: &Host, url_path: String) {
        let found = place(self.site, &self.htaccess, host, url_path.clone());
        if !matches!(found.handler, Ok(ref handler) if *handler != Handler::File) {
            return;
        }
        let row = SurveyedPlace {
            host: host.number,
            example: url_path.clone(),
            url_path,
            folder: None,
            handler: found.handler,
            files: 0,
        };
        if !self.survey.rows.contains(&row) {
            self.survey.rows.push(row);
        }
    }

    fn visit(&mut self, tree: &mut Tree<'_>, path: &Path, depth: usize) {
        let Ok(found) = std::fs::metadata(path) else {
            return;
        };
        if self.visited >= MOST_VISITED || depth > DEEPEST {
            self.survey.is_partial = true;
            return;
        }
        self.visited += 1;
        if found.is_file() {
            if self.asks_router {
                self.file(tree, path);
            }
            return;
        }
        if !found.is_dir() || !tree.folders.insert((found.dev(), found.ino())) {
            return;
        }
        self.read_htaccess(tree.host, path);
        for child in children(path) {
            self.visit(tree, &child, depth + 1);
        }
    }

    fn file(&mut self, tree: &mut Tree<'_>, file: &Path) {
        let Some(rest) = file.strip_prefix(&tree.root).ok().and_then(Path::to_str) else {
            return;
        };
        let base = tree.url_path.trim_end_matches('/');
        let separator = if rest.is_empty() { "" } else { "/" };
        let found = place(
            self.site,
            &self.htaccess,
            tree.host,
            format!("{base}{separator}{rest}"),
        );
        tree.add(found);
    }

    /// Reads the folder's .htaccess file as the first request for the folder would.
    fn read_htaccess(&mut self, host: &Host, folder: &Path) {
        if !host.allows_htaccess() {
            return;
        }
        let may = host.overrides(folder);
        if may.is_none() {
            return;
        }
        let names = self.site.access_files.iter();
        let found = names.map(|name| folder.join(name)).find(|it| it.is_file());
        let Some(file) = found.filter(|file| self.read.insert(file.clone())) else {
            return;
        };
        if let Err(found) = self.site.read_htaccess(&file, folder, may) {
            self.survey.problems.extend(found.problems);
        }
    }
}

impl Tree<'_> {
    fn add(&mut self, found: super::ServedUrl) {
        let words = match &found.handler {
            Ok(handler) => handler.to_string(),
            Err(reason) => format!("refused: {reason}"),
        };
        if let Some(row) = self.known.get(&words) {
            self.rows[*row].files += 1;
            return;
        }
        self.known.insert(words, self.rows.len());
        self.rows.push(SurveyedPlace {
            host: self.host.number,
            url_path: self.url_path.clone(),
            folder: Some(self.root.clone()),
            handler: found.handler,
            files: 1,
            example: found.url_path,
        });
    }
}

/// Returns the URL paths for which the configuration may choose a handler without a file.
fn chosen_paths(host: &Host) -> impl Iterator<Item = String> + '_ {
    let passes = host
        .mapping
        .passes
        .iter()
        .filter_map(|pass| match &pass.from {
            PassFrom::Prefix(prefix) => Some(prefix.clone()),
            PassFrom::Match(_) => None,
        });
    let sections = host.sections.iter();
    let locations = sections.filter_map(|section| match &section.scope {
        Scope::Location(path) if !path.contains(['*', '?', '[']) => Some(path.clone()),
        _ => None,
    });
    passes.chain(locations)
}

/// Returns the visible members of a folder, sorted by name.
fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_shown = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| !name.starts_with('.'))
    };
    let mut names: Vec<PathBuf> = names.filter(is_shown).collect();
    names.sort();
    names
}
