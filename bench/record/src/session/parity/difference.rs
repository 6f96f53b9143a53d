//! Compares the two answers to one request.

use serde::Serialize;

use super::mask::{Hidden, Masks};
use super::{body, cookies, fields, server_page, Settings};
use crate::session::replay::answer::{Answer, NoAnswer};

/// One difference between two answers. `None` in `old` or `new` means that this answer lacks the
/// part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// `status`, `header`, `cookie`, `body`, or `answer` if one answer is missing.
    pub part: &'static str,
    /// The name of the header or cookie.
    pub name: Option<String>,
    pub old: Option<String>,
    pub new: Option<String>,
    /// The lines around the first difference of two texts. Each line begins with a space (both),
    /// `-` (old) or `+` (new).
    pub excerpt: Vec<String>,
}

/// What the comparison of one request's answers has found.
#[derive(Default)]
pub struct Findings {
    pub differences: Vec<Difference>,
    pub hidden: Vec<Hidden>,
}

impl Findings {
    pub fn compare(&mut self, old: &Answer, new: &Answer, masks: &mut Masks, settings: &Settings) {
        if old.status != new.status {
            let [a, b] = [old.status, new.status].map(|status| Some(status.to_string()));
            self.differ("status", None, a, b);
        }
        // Cookies come first: they pair the session identifiers of both sides, which are then
        // masked in the other parts.
        cookies::compare(&old.headers, &new.headers, masks, self);
        if settings.ignore_server_pages && server_page::are_both(old, new) {
            return self.compare_server_pages(old, new, masks, settings);
        }
        let body_differs = body::compare(old, new, masks, self);
        fields::compare(old, new, body_differs, masks, settings, self);
    }

    /// Compares two pages that the servers have made themselves: everything but the page.
    fn compare_server_pages(
        &mut self,
        old: &Answer,
        new: &Answer,
        masks: &Masks,
        settings: &Settings,
    ) {
        let mut settings = settings.clone();
        if old.body != new.body {
            let [old, new] = [old, new].map(|side| format!("{} bytes", side.body.len()));
            self.hide("server page", &old, &new);
            let fields = server_page::FIELDS.map(str::to_owned);
            settings.ignored_headers.extend(fields);
        }
        // The page counts as the same, so its length is masked too.
        fields::compare(old, new, false, masks, &settings, self);
    }

    pub fn missing(&mut self, old: &Result<Answer, NoAnswer>, new: &Result<Answer, NoAnswer>) {
        let [a, b] = [old, new].map(|side| match side {
            Ok(answer) => Some(format!("status {}", answer.status)),
            Err(none) => Some(none.why.clone()),
        });
        self.differ("answer", None, a, b);
    }

    pub fn differ(
        &mut self,
        part: &'static str,
        name: Option<&str>,
        old: Option<String>,
        new: Option<String>,
    ) {
        self.differences.push(Difference {
            part,
            name: name.map(str::to_owned),
            old,
            new,
            excerpt: Vec::new(),
        });
    }

    pub fn hide(&mut self, what: &str, old: &str, new: &str) {
        self.hidden.push(Hidden {
            what: what.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
        });
    }
}
