//! Reads sections inside other sections: `<RequireAll>` and the like, `<Limit>`, `<If>`.
//!
//! Such a section collects the changes of its lines. When the section is closed, it passes its
//! changes to the enclosing section.

use std::sync::Arc;

use super::{OpenKind, Reader};
use crate::directives::METHODS;
use crate::line::Word;
use crate::problem::{At, Fault};
use crate::{Change, Conditional, Expression, Methods, NoteKind, Requirement};

/// The kinds of inner sections.
pub(super) enum InnerSection {
    RequireAny,
    RequireAll,
    RequireNone,
    Limit(Methods),
    If(Expression),
    /// `<Files>` in `<If>` or `<Files>`.
    Never,
}

impl Reader<'_> {
    /// Returns the section that an opening line begins, if the section is of such a kind. `name` is
    /// in lower case.
    pub(super) fn part(
        &mut self,
        lower: &str,
        name: &Word,
        words: &[Word],
    ) -> Option<Result<InnerSection, Fault>> {
        let no_words = |part: InnerSection| match words.first() {
            None => Ok(part),
            Some(extra) => {
                let message = format!(
                    "expected `<{}>` and no more, not `{}`",
                    name.text, extra.text
                );
                Err(Fault::new(extra.at, message))
            }
        };
        Some(match lower {
            "requireany" => no_words(InnerSection::RequireAny),
            "requireall" => no_words(InnerSection::RequireAll),
            "requirenone" => self
                .negate(name.at)
                .and_then(|()| no_words(InnerSection::RequireNone)),
            "limit" | "limitexcept" => {
                let methods = methods(lower == "limit", name, words, self.htaccess.is_some());
                let fitting = methods.and_then(|methods| self.check_limit(methods, name.at));
                fitting.map(InnerSection::Limit)
            }
            "if" | "elseif" | "else" => self.condition(lower, name, words).map(InnerSection::If),
            "files" | "filesmatch" if self.is_in_request_section() => {
                self.never(lower, name, words)
            }
            _ => return None,
        })
    }

    /// Tells whether the innermost section is an `<If>` or a `<Files>`.
    fn is_in_request_section(&self) -> bool {
        let inner = self.open.iter().rev().find_map(|open| match &open.kind {
            OpenKind::Scoped(section) => Some(section.scope.is_of_files()),
            OpenKind::Inner(InnerSection::If(_) | InnerSection::Never, _) => Some(true),
            _ => None,
        });
        inner.unwrap_or(false)
    }

    /// Opens a `<Files>` that Apache accepts and never applies, because the sections for files were
    /// chosen before.
    fn never(&mut self, lower: &str, name: &Word, words: &[Word]) -> Result<InnerSection, Fault> {
        crate::section::scope(lower, name, words, &self.site.server_root)?;
        let message = "as in Apache, a section for files inside <If> or <Files> never applies";
        self.add_note("<Files>", name.at, NoteKind::Ignored, message.into());
        Ok(InnerSection::Never)
    }

    /// Returns a fault unless `<RequireAll>` is the innermost container. As in Apache, a negated
    /// requirement cannot stand anywhere else, because it can only refuse.
    pub(super) fn negate(&self, at: At) -> Result<(), Fault> {
        let container = self.open.iter().rev().find(|open| {
            let is_passed = matches!(
                open.kind,
                OpenKind::Read | OpenKind::Inner(InnerSection::Limit(_), _)
            );
            !is_passed
        });
        match container.map(|open| &open.kind) {
            Some(OpenKind::Inner(InnerSection::RequireAll, _)) => Ok(()),
            _ => Err(Fault::new(
                at,
                "a negated requirement cannot admit anybody; expected it in <RequireAll>",
            )),
        }
    }

    /// Returns a fault if the methods are not among those of an outer `<Limit>`.
    fn check_limit(&self, methods: Methods, at: At) -> Result<Methods, Fault> {
        let outer = self.open.iter().rev().find_map(|open| match &open.kind {
            OpenKind::Inner(InnerSection::Limit(outer), _) => Some(outer),
            _ => None,
        });
        if outer.is_none_or(|outer| methods.are_within(outer)) {
            return Ok(methods);
        }
        let message = "expected only methods of the outer <Limit> or <LimitExcept>";
        Err(Fault::new(at, message))
    }

    /// Returns the condition of the section. For `<ElseIf>` and `<Else>`, the condition also
    /// requires that all earlier conditions of the same `<If>` are false.
    fn condition(&mut self, lower: &str, name: &Word, words: &[Word]) -> Result<Expression, Fault> {
        let own = match (lower, words) {
            ("else", []) => Expression::always(),
            ("else", [extra, ..]) => {
                return Err(Fault::new(extra.at, "expected `<Else>` and no more"));
            }
            (_, []) => {
                let message = format!(
                    "an argument is missing; expected `<{} EXPRESSION>`",
                    name.text
                );
                return Err(Fault::new(name.at, message));
            }
            (_, [first, ..]) => {
                let text = crate::arguments::written(words);
                Expression::parse(&text).map_err(|why| Fault::new(first.at, why))?
            }
        };
        let depth = self.open.len();
        let before = self.conditions.remove(&depth);
        let whole = match (lower, before) {
            ("if", _) => own.clone(),
            (_, Some(before)) => {
                let otherwise = before.not();
                let whole = otherwise.and(&own);
                if whole.is_too_long() {
                    let message = "expected fewer <ElseIf>: together they have too many terms";
                    return Err(Fault::new(name.at, message));
                }
                self.conditions.insert(depth, before.or(&own));
                return Ok(whole);
            }
            (_, None) => {
                let message = format!("<{}> has no <If> before it; expected one", name.text);
                return Err(Fault::new(name.at, message));
            }
        };
        self.conditions.insert(depth, own);
        Ok(whole)
    }
}

impl InnerSection {
    /// Tells whether the section combines requirements.
    pub(super) fn holds_requirements(&self) -> bool {
        use InnerSection::{RequireAll, RequireAny, RequireNone};
        matches!(self, RequireAny | RequireAll | RequireNone)
    }

    /// Returns the changes that the section makes to the enclosing section, or why the section is
    /// wrong.
    pub(super) fn close(self, changes: Vec<Change>) -> Result<Vec<Change>, &'static str> {
        match self {
            InnerSection::RequireAny => gather(changes, Requirement::Any),
            InnerSection::RequireAll => gather(changes, Requirement::Every),
            InnerSection::RequireNone => gather(changes, Requirement::None),
            InnerSection::Limit(methods) => Ok(changes
                .into_iter()
                .map(|change| limit(change, &methods))
                .collect()),
            InnerSection::If(condition) => Ok(conditional(condition, changes)),
            InnerSection::Never => Ok(Vec::new()),
        }
    }
}

/// As in Apache, a container without a requirement is an error: a `<RequireAll>` of nothing would
/// admit everybody.
fn gather(
    changes: Vec<Change>,
    wrap: fn(Vec<Requirement>) -> Requirement,
) -> Result<Vec<Change>, &'static str> {
    let mut required = Vec::new();
    let mut others = Vec::new();
    for change in changes {
        match change {
            Change::Require(requirement) => required.push(requirement),
            other => others.push(other),
        }
    }
    if required.is_empty() {
        return Err("the section has no requirement; expected `Require` in it");
    }
    others.push(Change::Require(wrap(required)));
    Ok(others)
}

/// Returns why the requirements of a section are wrong. As in Apache, a `<RequireAll>` with
/// nothing but negated requirements is an error, because it can only refuse. Apache does not check
/// a .htaccess file for this.
pub(super) fn misses_a_grant(changes: &[Change]) -> Option<&'static str> {
    changes.iter().find_map(|change| match change {
        Change::Require(requirement) if requirement.has_only_negated() => Some(
            "a <RequireAll> has negated requirements only, and cannot admit anybody; \
             expected another requirement in it, such as `Require all granted`",
        ),
        Change::If(conditional) => misses_a_grant(&conditional.changes),
        _ => None,
    })
}

fn limit(change: Change, methods: &Methods) -> Change {
    match change {
        Change::Require(requirement) => {
            Change::Require(Requirement::Limited(methods.clone(), Box::new(requirement)))
        }
        Change::Order(None, order) => Change::Order(Some(methods.clone()), order),
        Change::Allow(None, from) => Change::Allow(Some(methods.clone()), from),
        Change::Deny(None, from) => Change::Deny(Some(methods.clone()), from),
        Change::Satisfy(None, any) => Change::Satisfy(Some(methods.clone()), any),
        other => other,
    }
}

/// Returns the changes of an `<If>`. A nested `<If>` becomes an `<If>` with both conditions.
fn conditional(condition: Expression, changes: Vec<Change>) -> Vec<Change> {
    let mut own = Vec::new();
    let mut inner = Vec::new();
    for change in changes {
        match change {
            Change::If(nested) => inner.push(Change::If(Arc::new(Conditional {
                condition: condition.and(&nested.condition),
                changes: nested.changes.clone(),
            }))),
            other => own.push(other),
        }
    }
    let own = Conditional {
        condition,
        changes: own,
    };
    std::iter::once(Change::If(Arc::new(own)))
        .chain(inner)
        .collect()
}

/// Returns the methods of a `<Limit>` or `<LimitExcept>`. As in Apache, `get` is another method
/// than `GET`, and a .htaccess file may name only known methods.
fn methods(listed: bool, name: &Word, words: &[Word], only_known: bool) -> Result<Methods, Fault> {
    if words.is_empty() {
        let message = format!(
            "an argument is missing; expected `<{} METHOD...>`",
            name.text
        );
        return Err(Fault::new(name.at, message));
    }
    let mut names = Vec::new();
    for word in words {
        let method = word.text.as_str();
        let mut bytes = method.bytes();
        let is_fit = bytes.all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
        let is_known = METHODS.contains(&method);
        if method.is_empty() || !is_fit || (only_known && !is_known) {
            let message = format!("expected a method such as POST, not `{method}`");
            return Err(Fault::new(word.at, message).or_nearest(method, METHODS.into_iter()));
        }
        if listed && method == "TRACE" {
            let message = "<Limit> does not apply to TRACE; expected TraceEnable";
            return Err(Fault::new(word.at, message));
        }
        // `<Limit>` treats HEAD as GET.
        names.push(if method == "HEAD" { "GET" } else { method }.to_string());
    }
    Ok(Methods { names, listed })
}
