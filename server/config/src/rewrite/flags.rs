//! The flags of a `RewriteRule`, `[NAME,NAME=VALUE,...]`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::{HandlerName, Text};

#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Flags {
    pub last: bool,
    pub end: bool,
    /// `R`: the status of the redirect.
    pub redirect: Option<u16>,
    pub forbidden: bool,
    pub gone: bool,
    pub pass_through: bool,
    pub append_query: bool,
    pub discard_query: bool,
    pub query_last: bool,
    pub no_escape: bool,
    /// `UnsafeAllow3F`: inserted text may begin the query.
    pub question_marks: bool,
    pub chain: bool,
    pub skip: u32,
    /// `N`: the rules start again at the first rule, at most this many times.
    pub next: Option<u32>,
    pub environment: Vec<(String, Option<Text>)>,
    pub cookies: Vec<Text>,
    /// `H` and `T`: the handler and the media type of the rewritten request.
    pub forced: Option<Arc<Forced>>,
    pub discard_path_info: bool,
    pub escape: Option<Escape>,
    /// `UnsafePrefixStat`: inserted text may form the first folder of a file path.
    pub any_start: bool,
    pub no_subrequest: bool,
}

/// `[H=]` and `[T=]`: the handler of the requests that match the rule, and the media type.
#[derive(Debug, PartialEq, serde::Serialize)]
pub struct Forced {
    pub handler: Option<HandlerName>,
    pub media_type: Option<String>,
    /// The number of the rule. Every rule gets a different number, also when a file is read again.
    #[serde(skip)]
    pub(crate) serial: u64,
}

impl Forced {
    fn new(handler: Option<HandlerName>, media_type: Option<String>) -> Arc<Forced> {
        static SERIAL: AtomicU64 = AtomicU64::new(1);
        Arc::new(Forced {
            handler,
            media_type,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        })
    }
}

/// The default for how many times `[N]` starts the rules again.
const ROUNDS: u32 = 32;

/// Parses `[NAME,NAME=VALUE,...]` into names and values.
pub(super) fn flag_list(text: &str) -> Result<Vec<(&str, &str)>, String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .ok_or_else(|| format!("expected flags in brackets such as [L,R=301], not `{text}`"))?;
    let flags = inner
        .split(',')
        .map(str::trim)
        .filter(|flag| !flag.is_empty());
    Ok(flags
        .map(|flag| flag.split_once('=').unwrap_or((flag, "")))
        .collect())
}

/// The flags that the directive handles and not [`Flags`], because they need the rest of the rule
/// or of the site.
#[derive(Default)]
pub(crate) struct Wishes {
    pub caseless: bool,
    /// `P`
    pub proxy: bool,
    /// `H`
    pub handler: Option<String>,
    /// `T`
    pub media_type: Option<String>,
}

/// `[B]` and the like: the characters that are percent-encoded when a group is inserted.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Escape {
    /// `B=CHARACTERS`: only these characters are encoded.
    pub only: Option<Vec<u8>>,
    /// `BNE=CHARACTERS`: these characters are never encoded.
    pub but: Vec<u8>,
    /// `BNP`: a blank is encoded as `%20`, not as `+`.
    pub without_plus: bool,
    /// `BCTLS`: only blanks and control characters are encoded.
    pub controls: bool,
}

impl Escape {
    pub fn put(&self, bytes: &[u8], into: &mut Vec<u8>) {
        for &byte in bytes {
            let listed = self.only.as_ref().is_some_and(|only| only.contains(&byte));
            let by_kind = if self.controls {
                byte <= b' ' || byte == 0x7f
            } else {
                self.only.is_none()
            };
            let meant = (listed || by_kind) && !self.but.contains(&byte);
            match byte {
                _ if !meant || byte.is_ascii_alphanumeric() || byte == b'_' => into.push(byte),
                b' ' if !self.without_plus => into.push(b'+'),
                _ => mehari_text::percent::push_lower(byte, into),
            }
        }
    }
}

impl Flags {
    fn escaping(&mut self) -> &mut Escape {
        self.escape.get_or_insert_with(Default::default)
    }

    pub(super) fn read(list: &str) -> Result<(Flags, Wishes), String> {
        let mut flags = Flags::default();
        let mut wishes = Wishes::default();
        let mut escapes = false;
        for (name, value) in flag_list(list)? {
            let fixed = || {
                if value.is_empty() || value.contains(['%', '$']) {
                    Err(format!(
                        "expected a fixed name behind {name}=, not `{value}`"
                    ))
                } else {
                    Ok(Some(value.to_string()))
                }
            };
            let upper = name.to_ascii_uppercase();
            escapes |= ["B", "BACKREFESCAPING", "BCTLS"].contains(&upper.as_str());
            match upper.as_str() {
                "NC" | "NOCASE" => wishes.caseless = true,
                "P" | "PROXY" => wishes.proxy = true,
                "H" | "HANDLER" => wishes.handler = fixed()?,
                "T" | "TYPE" => wishes.media_type = fixed()?,
                _ => flags.apply(name, value)?,
            }
        }
        // `BNP` and `BNE` alone escape nothing.
        flags.escape = flags.escape.filter(|_| escapes);
        Ok((flags, wishes))
    }
    /// Sets the handler of `[H=]` and the media type of `[T=]`. If both are missing, nothing is
    /// forced.
    pub(crate) fn force(&mut self, handler: Option<HandlerName>, media_type: Option<String>) {
        let is_said = handler.is_some() || media_type.is_some();
        self.forced = is_said.then(|| Forced::new(handler, media_type));
    }

    fn apply(&mut self, name: &str, value: &str) -> Result<(), String> {
        let text = |value: &str| Text::rewriting(value);
        match name.to_ascii_uppercase().as_str() {
            "L" | "LAST" => self.last = true,
            "END" => self.end = true,
            "R" | "REDIRECT" => self.redirect = Some(redirect_status(value)?),
            "F" | "FORBIDDEN" => self.forbidden = true,
            "G" | "GONE" => self.gone = true,
            "PT" | "PASSTHROUGH" => self.pass_through = true,
            "QSA" | "QSAPPEND" => self.append_query = true,
            "QSD" | "QSDISCARD" => self.discard_query = true,
            "QSL" | "QSLAST" => self.query_last = true,
            "NE" | "NOESCAPE" => self.no_escape = true,
            "NS" | "NOSUBREQ" => self.no_subrequest = true,
            "C" | "CHAIN" => self.chain = true,
            "B" | "BACKREFESCAPING" => {
                let only = (!value.is_empty()).then(|| value.as_bytes().to_vec());
                self.escaping().only = only;
            }
            "BNE" if value.is_empty() => return Err("expected BNE=CHARACTERS".to_string()),
            "BNE" => self.escaping().but = value.as_bytes().to_vec(),
            "BNP" | "BACKREFERNOPLUS" => self.escaping().without_plus = true,
            "BCTLS" => self.escaping().controls = true,
            "DPI" | "DISCARDPATH" => self.discard_path_info = true,
            "S" | "SKIP" => self.skip = number(name, value)?,
            "N" | "NEXT" => {
                self.next = Some(match value {
                    "" => ROUNDS,
                    value => number(name, value)?.min(10_000),
                });
            }
            "E" | "ENV" => {
                let (variable, value) = match value.split_once(':') {
                    Some((variable, value)) => (variable, Some(text(value)?)),
                    None => match value.strip_prefix('!') {
                        Some(variable) => (variable, None),
                        None => (value, Some(Text::default())),
                    },
                };
                if variable.is_empty() {
                    return Err(format!("expected E=NAME:VALUE, not `{name}={value:?}`"));
                }
                self.environment.push((variable.to_string(), value));
            }
            "CO" | "COOKIE" => self.cookies.push(text(value)?),
            "UNSAFEALLOW3F" => self.question_marks = true,
            "UNSAFEPREFIXSTAT" => self.any_start = true,
            "UNC" => {}
            _ => {
                const KNOWN: &[&str] = &[
                    "L",
                    "END",
                    "R",
                    "F",
                    "G",
                    "P",
                    "PT",
                    "QSA",
                    "QSD",
                    "QSL",
                    "NC",
                    "NE",
                    "NS",
                    "C",
                    "S",
                    "N",
                    "E",
                    "CO",
                    "P",
                    "T",
                    "H",
                    "B",
                    "BNP",
                    "BNE",
                    "BCTLS",
                    "DPI",
                    "UnsafeAllow3F",
                    "UnsafePrefixStat",
                ];
                let nearest = crate::nearest(name, KNOWN.iter().copied());
                let hint = nearest.map_or(String::new(), |name| format!("; did you mean {name}?"));
                return Err(format!(
                    "expected flags among {}, not `{name}`{hint}",
                    KNOWN.join(", ")
                ));
            }
        }
        Ok(())
    }
}

fn number(name: &str, value: &str) -> Result<u32, String> {
    value
        .parse()
        .map_err(|_| format!("expected a number behind {name}=, not `{value}`"))
}

/// Parses the status of `R`. The default is 302. With a status outside of 3xx, the server sends the
/// status without the substitution.
fn redirect_status(value: &str) -> Result<u16, String> {
    match value.to_ascii_lowercase().as_str() {
        "" | "temp" => Ok(302),
        "permanent" => Ok(301),
        "seeother" => Ok(303),
        value => {
            let status = value
                .parse()
                .ok()
                .filter(|status| (200..=599).contains(status));
            status.ok_or_else(|| format!("expected a status from 200 to 599, not `{value}`"))
        }
    }
}
