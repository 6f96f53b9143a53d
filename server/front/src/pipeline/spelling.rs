//! Leads a request for a missing file to files with similar names (Apache's mod_speling).
//!
//! The fixup stage calls [`Evaluation::correct_spelling`]. `routing::similar` finds the names.

use super::negotiate::choices_page;
use super::rewrite::redirected;
use super::rules::{Decision, Evaluation, Need};
use crate::request::canonical::absolute;
use crate::request::rule_state::{Likeness, RuleState, SimilarName, SimilarNames};
use crate::routing::similar::MissingFile;
use crate::routing::{Route, RouteOutcome};
use mehari_http::path::Path;
use mehari_text::{html, percent};

/// The bytes that Apache leaves as they are in a path, besides letters and digits.
const KEPT: &[u8] = b"$-_.+!*'(),:@&=/~";

impl Evaluation<'_> {
    /// Redirects a request for a missing file to the file with the most similar name, or returns
    /// the list of similar names. `None`: the request continues.
    pub(super) fn correct_spelling(
        &self,
        route: &Route,
        path: &Path,
        rule_state: &mut Option<Box<RuleState>>,
    ) -> Option<Decision> {
        let settings = &route.settings;
        let is_missing =
            matches!(&route.outcome, RouteOutcome::Refused(problem) if problem.status == 404);
        if !settings.files.spelling.checked
            || !is_missing
            || !matches!(self.request.method, b"GET" | b"HEAD")
            || path.merged == b"/"
            || self.request.error().is_some()
            // Perl's handlers run later, and must decide before a client learns any name.
            || settings.is_decided_after_perl()
        {
            return None;
        }
        let state = rule_state.get_or_insert_with(Default::default);
        if state.is_within || state.mapping.file().is_some() {
            return None;
        }
        let Some(similar) = state.mapping.similar.clone() else {
            return Some(Decision::Needs(Need::FindSimilar(MissingFile {
                path: path.merged.clone(),
                file: [&route.file[..], &route.path_info].concat(),
                spelling: settings.files.spelling,
            })));
        };
        let best = similar.names.first()?;
        let is_clear = similar
            .names
            .get(1)
            .is_none_or(|next| next.likeness != best.likeness);
        if is_clear && best.likeness != Likeness::Basename {
            let mut target = escaped(&corrected(path, &similar, best));
            target.extend_from_slice(self.sent_query());
            let location = absolute(self.request, &self.host.names, target);
            return Some(redirected(settings.clone(), 301, location));
        }
        state.set(b"VARIANTS", self.variants(path, &similar));
        let has_document = settings
            .error_documents
            .iter()
            .any(|(known, _)| *known == 300);
        Some(if has_document {
            Decision::Status(Some(settings.clone()), 300)
        } else {
            let page = choices_page(300, &self.list(path, &similar));
            Decision::Answer(settings.clone(), page)
        })
    }

    /// Returns the query as sent, with its question mark.
    fn sent_query(&self) -> &[u8] {
        let target = self.request.resource;
        memchr::memchr(b'?', target).map_or(&[], |mark| &target[mark..])
    }

    /// Returns the list of similar names with links, as Apache writes it.
    fn list(&self, path: &Path, similar: &SimilarNames) -> Vec<u8> {
        const INTRODUCTION: &[u8] = b"</code>) could not be found on this server.\n\
            However, we found documents with names similar to the one you requested.\
            <p>Available documents:\n<ul>\n";
        const FURTHER: &[u8] =
            b"</ul>\nFurthermore, the following related documents were found:\n<ul>\n";
        let mut list = b"The document name you requested (<code>".to_vec();
        html::push(&path.merged, "'", &mut list);
        list.extend_from_slice(INTRODUCTION);
        for (at, one) in similar.names.iter().enumerate() {
            let target = [&corrected(path, similar, one), self.sent_query()].concat();
            list.extend_from_slice(b"<li><a href=\"");
            html::push(&escaped(&target), "'", &mut list);
            list.extend_from_slice(b"\">");
            html::push(&target, "'", &mut list);
            let reason = reason(one.likeness);
            list.extend_from_slice(format!("</a> ({reason})\n").as_bytes());
            let next = similar.names.get(at + 1);
            let is_next_remote = next.is_some_and(|next| next.likeness == Likeness::Basename);
            if at > 0 && one.likeness != Likeness::Basename && is_next_remote {
                list.extend_from_slice(FURTHER);
            }
        }
        list.extend_from_slice(b"</ul>\n");
        if let Some(page) = self.request.field("referer") {
            list.extend_from_slice(
                b"Please consider informing the owner of the referring page <tt>",
            );
            html::push(page, "'", &mut list);
            list.extend_from_slice(b"</tt> about the broken link.\n");
        }
        list
    }

    /// Returns the variable VARIANTS, which the `ErrorDocument` of 300 sees.
    fn variants(&self, path: &Path, similar: &SimilarNames) -> Vec<u8> {
        let quoted = similar.names.iter().map(|one| {
            let target = [&corrected(path, similar, one), self.sent_query()].concat();
            let reason = reason(one.likeness).as_bytes();
            [b"\"", &escaped(&target)[..], b"\";\"", reason, b"\""].concat()
        });
        quoted.collect::<Vec<_>>().join(&b',')
    }
}

/// Returns the decoded path with a similar name in place of the missing name.
fn corrected(path: &Path, similar: &SimilarNames, one: &SimilarName) -> Vec<u8> {
    let behind = path.merged.len() - similar.behind;
    [
        &path.merged[..similar.before],
        &one.name,
        &path.merged[behind..],
    ]
    .concat()
}

fn reason(likeness: Likeness) -> &'static str {
    match likeness {
        Likeness::OtherCase => "miscapitalized",
        Likeness::Transposed => "transposed characters",
        Likeness::Missing => "character missing",
        Likeness::Extra => "extra character",
        Likeness::Mistyped => "mistyped character",
        Likeness::Basename => "common basename",
    }
}

/// Encodes a path in lower-case digits, as Apache's modules do.
fn escaped(path: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(path.len());
    for &byte in path {
        if byte.is_ascii_alphanumeric() || KEPT.contains(&byte) {
            escaped.push(byte);
        } else {
            percent::push_lower(byte, &mut escaped);
        }
    }
    escaped
}
