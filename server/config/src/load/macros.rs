//! Reads `<Macro NAME PARAMETER...>` and `Use NAME VALUE...`. `Use` reads the macro's lines with
//! values in place of the parameters.
//!
//! A macro's lines keep their positions, so a problem in the macro names that line. A second
//! problem names the line of `Use`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::Reader;
use crate::environment::UseRequest;
use crate::line::{self, Character};
use crate::problem::{At, Fault};

/// The deepest nesting of macros.
const DEPTH: usize = 32;

/// The macros of the configuration that is being read.
#[derive(Default)]
pub(super) struct Macros {
    known: BTreeMap<String, Macro>,
    /// The `<Macro>` section that is open.
    drafting: Option<Macro>,
    /// The macros in use, from the outermost on.
    using: Vec<String>,
}

struct Macro {
    name: String,
    parameters: Vec<String>,
    lines: Vec<Vec<Character>>,
    file: PathBuf,
    at: At,
    /// The number of open `<Macro>` sections inside this macro.
    depth: usize,
}

impl Reader<'_> {
    /// Takes a line that begins, continues or ends a macro. Returns false for any other line.
    pub(super) fn collects(&mut self, content: &[Character]) -> Result<bool, Fault> {
        let text = line::text(content).to_ascii_lowercase();
        let opens = text
            .strip_prefix("<macro")
            .is_some_and(|rest| rest.starts_with([' ', '\t', '>']));
        let closes = text.starts_with("</macro>");
        let Some(draft) = &mut self.macros.drafting else {
            if opens && !self.is_skipping() && self.htaccess.is_none() {
                self.macros.drafting = Some(self.begun(content)?);
                return Ok(true);
            }
            return Ok(false);
        };
        match (opens, closes, draft.depth) {
            (_, true, 0) => {
                let done = self.macros.drafting.take();
                self.macros
                    .known
                    .extend(done.map(|done| (done.name.clone(), done)));
                return Ok(true);
            }
            (_, true, _) => draft.depth -= 1,
            (true, ..) => draft.depth += 1,
            _ => {}
        }
        draft.lines.push(content.to_vec());
        Ok(true)
    }

    fn begun(&self, content: &[Character]) -> Result<Macro, Fault> {
        let at = content[0].1;
        let wrong = || Fault::new(at, "expected `<Macro NAME [PARAMETER]...>`");
        let [_, inner @ .., ('>', _)] = content else {
            return Err(wrong());
        };
        let words = line::words(inner)?;
        let [_, name, parameters @ ..] = &words[..] else {
            return Err(wrong());
        };
        let mut known: Vec<String> = Vec::new();
        for word in parameters {
            if word.text.is_empty() || known.contains(&word.text) {
                let message = format!("expected each parameter once, not `{}` again", word.text);
                return Err(Fault::new(word.at, message));
            }
            known.push(word.text.clone());
        }
        Ok(Macro {
            name: name.text.to_ascii_lowercase(),
            parameters: known,
            lines: Vec::new(),
            file: self.file.clone(),
            at,
            depth: 0,
        })
    }

    /// Reports a macro that its file does not close.
    pub(super) fn refuse_open_macro(&mut self) {
        if let Some(draft) = self.macros.drafting.take() {
            let message = "<Macro> is not closed; expected </Macro> in the same file";
            self.refuse(Fault::new(draft.at, message));
        }
    }

    pub(super) fn forget_macro(&mut self, name: &str) {
        self.macros.known.remove(&name.to_ascii_lowercase());
    }

    /// Reads a macro's lines with these values in place of its parameters.
    pub(super) fn use_macro(&mut self, request: UseRequest) -> Result<(), Fault> {
        let UseRequest { name, values, at } = request;
        let lower = name.to_ascii_lowercase();
        let Some(known) = self.macros.known.get(&lower) else {
            let names = self.macros.known.keys().map(String::as_str);
            let fault = Fault::new(
                at,
                format!("there is no macro `{name}`; expected `<Macro {name}>` before it"),
            );
            return Err(fault.or_nearest(&lower, names));
        };
        if values.len() != known.parameters.len() {
            let expected = if known.parameters.is_empty() {
                "no values".to_string()
            } else {
                format!("values for {}", known.parameters.join(", "))
            };
            let message = format!(
                "expected {expected} behind `{name}`, not {} of them",
                values.len()
            );
            return Err(Fault::new(at, message));
        }
        if self.macros.using.contains(&lower) || self.macros.using.len() >= DEPTH {
            return Err(Fault::new(at, format!("macro `{name}` uses itself")));
        }
        let pairs: Vec<(&str, &str)> = pairs(&known.parameters, &values);
        let lines: Vec<_> = known
            .lines
            .iter()
            .map(|line| filled(line, &pairs))
            .collect();
        let user = std::mem::replace(&mut self.file, known.file.clone());
        let problems = self.problems.len();
        let outer = self.open.len();
        self.macros.using.push(lower);
        for line in &lines {
            if let Err(fault) = self.take_line(line) {
                self.refuse(fault);
            }
        }
        self.refuse_left_open(outer);
        self.macros.using.pop();
        self.file = user;
        if self.problems.len() > problems {
            Err(Fault::new(
                at,
                format!("the problem in macro `{name}` arises from its use here"),
            ))
        } else {
            Ok(())
        }
    }
}

/// Pairs the parameters with their values. The longest parameter comes first, so `$name` is
/// replaced before `$na`.
fn pairs<'a>(parameters: &'a [String], values: &'a [String]) -> Vec<(&'a str, &'a str)> {
    let parameters = parameters.iter().map(String::as_str);
    let mut pairs: Vec<_> = parameters.zip(values.iter().map(String::as_str)).collect();
    pairs.sort_by_key(|(parameter, _)| std::cmp::Reverse(parameter.len()));
    pairs
}

fn filled(line: &[Character], pairs: &[(&str, &str)]) -> Vec<Character> {
    let mut filled = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((character, at)) = rest.first() {
        let begins = |parameter: &str| {
            let mut own = rest.iter().map(|(character, _)| *character);
            parameter.chars().all(|wanted| own.next() == Some(wanted))
        };
        match pairs.iter().find(|(parameter, _)| begins(parameter)) {
            Some((parameter, value)) => {
                filled.extend(value.chars().map(|character| (character, *at)));
                rest = &rest[parameter.chars().count()..];
            }
            None => {
                filled.push((*character, *at));
                rest = &rest[1..];
            }
        }
    }
    filled
}
