//! `RewriteRule`s: those of the server or virtual host, which see the path before it stands for a file, and those
//! of folders, which see what of the file lies behind theirs.

use crate::dispatch::Dispatch;
use crate::facts::RequestFacts;
use crate::notes::Notes;
use crate::path::Path;
use crate::request::Request;
use crate::rewrite::{has_scheme, Rewritten, Run};
use crate::route::Route;
use crate::shared::Shared;
use mehari_config::{escaped, Host};

use super::redirects::{absolute, joined, redirected};
use super::{Early, Gate, Passage, Remarks};

pub(super) fn of_host<D: Dispatch>(
    shared: &Shared<D>,
    request: &Request<'_>,
    host: &Host,
    path: &Path,
    remarks: &mut Remarks,
) -> Early {
    let ended = remarks.as_ref().is_some_and(|notes| notes.ended);
    if !host.rules.rewriting.is_on() || ended {
        return Early::Go(None);
    }
    let mut facts = RequestFacts::new(request, host, None, &shared.maps);
    facts.path = &path.bytes;
    let mut run = Run {
        facts,
        subject: path.bytes.clone(),
        query: request.query().to_vec(),
        notes: remarks.as_deref().cloned().unwrap_or_default(),
    };
    let rewritten = run.through(&host.rules.rewriting);
    keep(remarks, run.notes);
    let decided = match rewritten {
        Rewritten::Unchanged => return Early::Go(None),
        Rewritten::Status(status) => Passage::Status(None, status),
        Rewritten::Proxy(_) => Passage::Status(None, 502),
        Rewritten::Redirect { status, location } => {
            let location = absolute(request, host, location);
            redirected(host.base_settings(), status, location)
        }
        Rewritten::Path { path: new, .. } if !new.starts_with(b"/") => Passage::Status(None, 400),
        // Rewritten to itself.
        Rewritten::Path {
            path: new, query, ..
        } if new == path.bytes && query == request.query() => return Early::Go(None),
        Rewritten::Path {
            path: new,
            query,
            pass_through,
            fixed_start,
        } => {
            if !pass_through && query == request.query() {
                return Early::Go(Some(file_of(host, new, fixed_start)));
            }
            // The query goes with the path, so the request goes on as one for both. Without
            // [PT] the path is a file's, which nothing maps any more.
            let target = joined(&escaped(&new), &query);
            match (pass_through, request.redirect) {
                (_, Some(redirect)) if redirect.target == target => Passage::Status(None, 500),
                _ => Passage::Led(target),
            }
        }
    };
    Early::Decided(decided)
}

/// The file a rewritten path stands for: below the document root, or on the disk itself if the rule
/// says its first folder and only the disk has that.
fn file_of(host: &Host, path: Vec<u8>, fixed_start: bool) -> Vec<u8> {
    let root = host.document_root.as_os_str().as_encoded_bytes();
    let root = root.strip_suffix(b"/").unwrap_or(root);
    let first = path[1..]
        .iter()
        .position(|byte| *byte == b'/')
        .map(|end| &path[..=end]);
    let exists = |name: &[u8]| crate::route::stat(name).is_some();
    let below = |name: &[u8]| [root, name].concat();
    match first {
        Some(first) if fixed_start && !exists(&below(first)) && exists(first) => path,
        _ => below(&path),
    }
}

impl<D: Dispatch> Gate<'_, D> {
    /// Rules of a folder: they see what of the file lies behind it, and lead to another path.
    pub(super) fn rewrite(
        &self,
        route: &Route,
        path: &Path,
        remarks: &mut Remarks,
    ) -> Option<Passage> {
        let settings = &route.settings;
        let rewriting = &settings.rules.rewriting;
        let ended = remarks.as_ref().is_some_and(|notes| notes.ended);
        if !rewriting.is_on() || ended {
            return None;
        }
        let file = [&route.file[..], &route.path_info].concat();
        let folder = rewriting
            .folder
            .as_ref()
            .map(|folder| folder.as_os_str().as_encoded_bytes());
        let behind = folder.and_then(|folder| file.strip_prefix(folder));
        let as_folder = folder.and_then(|folder| folder.strip_suffix(b"/"));
        let subject = match behind {
            Some(behind) => behind.to_vec(),
            // The folder itself, without its slash.
            None if Some(&file[..]) == as_folder => Vec::new(),
            None => file,
        };
        let base = self.base(rewriting.base.as_deref(), path, &subject);
        let mut facts = self.facts(route, settings, None);
        facts.path = &path.bytes;
        let mut run = Run {
            facts,
            subject: subject.clone(),
            query: self.request.query().to_vec(),
            notes: remarks.as_deref().cloned().unwrap_or_default(),
        };
        let rewritten = run.through(rewriting);
        keep(remarks, run.notes);
        let below = |target: Vec<u8>| match target.starts_with(b"/") || has_scheme(&target) {
            true => target,
            false => [&base[..], &target].concat(),
        };
        match rewritten {
            Rewritten::Unchanged => None,
            Rewritten::Status(status) => Some(Passage::Status(Some(settings.clone()), status)),
            Rewritten::Proxy(_) => Some(Passage::Status(Some(settings.clone()), 502)),
            Rewritten::Redirect { status, location } => {
                let location = absolute(self.request, self.host, below(location));
                Some(redirected(settings.clone(), status, location))
            }
            Rewritten::Path {
                path: new, query, ..
            } => {
                let target = joined(&escaped(&below(new)), &query);
                let same = joined(&escaped(&path.bytes), self.request.query());
                // Led to itself: as in Apache the rule is done with.
                (target != same).then_some(Passage::Led(target))
            }
        }
    }

    /// The URL path that relative targets are below: `RewriteBase`, else the request's own without
    /// what the rules saw.
    fn base(&self, configured: Option<&str>, path: &Path, subject: &[u8]) -> Vec<u8> {
        let mut base = match configured {
            Some(base) => base.as_bytes().to_vec(),
            None => match path.merged.strip_suffix(subject) {
                Some(start) => start.to_vec(),
                None => {
                    let end = memchr::memrchr(b'/', &path.merged).unwrap_or(0);
                    path.merged[..end].to_vec()
                }
            },
        };
        if !base.ends_with(b"/") {
            base.push(b'/');
        }
        base
    }
}

fn keep(remarks: &mut Remarks, notes: Notes) {
    match remarks {
        Some(known) => **known = notes,
        None if notes.variables.is_empty() && notes.lines.is_empty() && !notes.ended => {}
        None => *remarks = Some(Box::new(notes)),
    }
}
