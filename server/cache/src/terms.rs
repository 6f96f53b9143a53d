//! Decides whether a response may be kept (RFC 9111 section 3), how long it is fresh (section 4.2),
//! and how it may be used afterwards.

use crate::control::{seconds, Control};
use crate::fields::{field, fields, find, values, Field};
use crate::vary::{self, combined, Varied};
use mehari_config::CacheRules;
use std::time::{Duration, SystemTime};

#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// How long the response is fresh, from its arrival.
    pub lifetime: Duration,
    /// The response's age at its arrival.
    pub age: Duration,
    /// How long after its lifetime the response may be used while a new response is made, or if no
    /// new response can be made.
    pub while_revalidate: Duration,
    pub if_error: Duration,
    /// Whether the response is never used without validation (`no-cache`).
    pub ask: bool,
    /// The entity tag of the response. With the next field it makes up the response's validators.
    pub etag: Option<Vec<u8>>,
    pub modified: Option<Vec<u8>>,
    /// The request fields that `Vary` names, in lower case, with their values.
    pub vary: Varied,
}

/// The arrival of a response.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub at: SystemTime,
    /// The time between the request and the response (RFC 9111 section 4.2.3). The response may
    /// have spent this time on its way. Zero for a response that the server itself dates at its
    /// arrival.
    pub delay: Duration,
}

/// Why a response is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Status,
    NoStore,
    Private,
    /// The request had Authorization, and the response does not allow sharing.
    Authorized,
    /// The response sets a cookie.
    Cookie,
    VaryAny,
    /// The response has no freshness information, and no lifetime can be estimated.
    Unsaid,
    Expired,
}

/// How long a stale page may replace an error if the response does not say so itself.
const IF_ERROR: Duration = Duration::from_secs(86_400);
/// The largest number of fields in `Vary`. Each hit compares all of them.
const VARIED: usize = 16;

impl Terms {
    /// Returns the terms of a response to GET that is neither a range nor a 304. `has_query` tells
    /// whether the request had a query.
    ///
    /// # Errors
    ///
    /// The reason why the response is not kept.
    pub fn of(
        rules: &CacheRules,
        asked: &[Field<'_>],
        has_query: bool,
        status: u16,
        lines: &[u8],
        arrival: Arrival,
    ) -> Result<Terms, Refusal> {
        let now = arrival.at;
        let control = Control::parse(values(fields(lines), "cache-control"));
        let requested = asked.iter().copied();
        let request = Control::parse(values(requested, "cache-control"));
        let says = FreshnessFields::of(lines, &control);
        permitted(rules, asked, &control, &request, status, lines)?;
        let vary = varied(asked, lines)?;
        let lifetime = match says.lifetime(now) {
            Some(lifetime) => lifetime,
            // The response must be validated in any case.
            None if control.no_cache => Duration::ZERO,
            None => heuristic_lifetime(rules, asked, has_query, status, &says, now)?,
        };
        let lifetime = lifetime.min(rules.max_expire);
        let has_validator = says.etag.is_some() || says.modified.is_some();
        if lifetime.is_zero() && !(has_validator || rules.store_expired) {
            return Err(Refusal::Expired);
        }
        let beyond = |said: Option<Duration>, usual: Duration| match said {
            _ if control.forbids_stale() => Duration::ZERO,
            Some(said) => said,
            // If an origin sends only `s-maxage`, it also forbids stale use (section 5.2.2.10).
            None if control.shared_max_age.is_some() => Duration::ZERO,
            None => usual,
        };
        let if_error = if rules.stale_on_error {
            IF_ERROR
        } else {
            Duration::ZERO
        };
        Ok(Terms {
            lifetime,
            age: says.age_at(arrival),
            while_revalidate: beyond(control.while_revalidate, rules.stale_while_revalidate),
            if_error: beyond(control.if_error, if_error),
            ask: control.no_cache,
            etag: says.etag.map(<[u8]>::to_vec),
            modified: says.modified.map(<[u8]>::to_vec),
            vary,
        })
    }

    /// Returns the weight of the terms in bytes. It matters because a client may send long values
    /// in fields that `Vary` names.
    pub fn weight(&self) -> usize {
        let tags = [&self.etag, &self.modified].into_iter().flatten();
        let tags: usize = tags.map(Vec::len).sum();
        let vary = self.vary.iter();
        let vary: usize = vary.map(|(name, value)| name.len() + value.len()).sum();
        tags + vary
    }

    /// Returns whether the response fits a request with these fields.
    pub fn fits(&self, asked: &[Field<'_>]) -> bool {
        vary::fits(&self.vary, asked)
    }
}

/// Applies the rules of RFC 9111 sections 3 and 3.5, with the site's exceptions.
fn permitted(
    rules: &CacheRules,
    asked: &[Field<'_>],
    control: &Control,
    request: &Control,
    status: u16,
    lines: &[u8],
) -> Result<(), Refusal> {
    let for_all = control.public || control.shared_max_age.is_some() || control.must_revalidate;
    let ignored = |name: &str| rules.ignore_headers.iter().any(|known| known == name);
    match () {
        _ if !(200..500).contains(&status) || status == 206 || status == 304 => {
            Err(Refusal::Status)
        }
        _ if (control.no_store || request.no_store) && !rules.store_no_store => {
            Err(Refusal::NoStore)
        }
        _ if control.private && !rules.store_private => Err(Refusal::Private),
        _ if find(asked, "authorization").is_some() && !for_all => Err(Refusal::Authorized),
        // Applications often send `public` and do not know that a session's cookie is added later.
        _ if field(lines, "set-cookie").is_some() && !ignored("set-cookie") => Err(Refusal::Cookie),
        _ => Ok(()),
    }
}

/// The fields of a response that tell its age and lifetime.
struct FreshnessFields<'a> {
    explicit: Option<Duration>,
    expires: Option<&'a [u8]>,
    date: Option<SystemTime>,
    age: Duration,
    etag: Option<&'a [u8]>,
    modified: Option<&'a [u8]>,
}

impl<'a> FreshnessFields<'a> {
    fn of(lines: &'a [u8], control: &Control) -> FreshnessFields<'a> {
        FreshnessFields {
            explicit: control.shared_max_age.or(control.max_age),
            expires: field(lines, "expires"),
            date: field(lines, "date").and_then(date),
            age: field(lines, "age").and_then(seconds).unwrap_or_default(),
            etag: field(lines, "etag").filter(|tag| !tag.is_empty()),
            modified: field(lines, "last-modified").filter(|value| date(value).is_some()),
        }
    }

    /// Returns the age of section 4.2.3: computed from Age and the delay, or from Date if Date
    /// gives more.
    fn age_at(&self, arrival: Arrival) -> Duration {
        let apparent = self
            .date
            .and_then(|date| arrival.at.duration_since(date).ok());
        (self.age + arrival.delay).max(apparent.unwrap_or_default())
    }

    /// Returns the lifetime that the response states, or `None` if it states none.
    fn lifetime(&self, now: SystemTime) -> Option<Duration> {
        if self.explicit.is_some() {
            return self.explicit;
        }
        // An invalid date means that the response has expired (section 5.3).
        let expires = date(self.expires?).unwrap_or(SystemTime::UNIX_EPOCH);
        let from = self.date.unwrap_or(now);
        Some(expires.duration_since(from).unwrap_or(Duration::ZERO))
    }
}

/// Estimates the heuristic lifetime of section 4.2.2 by mod_cache's rules, for responses that seem
/// to be the same for all clients.
fn heuristic_lifetime(
    rules: &CacheRules,
    asked: &[Field<'_>],
    has_query: bool,
    status: u16,
    says: &FreshnessFields<'_>,
    now: SystemTime,
) -> Result<Duration, Refusal> {
    let usual = matches!(
        status,
        200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501
    );
    let dated = says.modified.is_some() || says.etag.is_some() || rules.ignore_no_last_mod;
    let forced = rules.ignore_no_last_mod;
    let personal = find(asked, "cookie").is_some() && !forced;
    if !usual || !dated || personal || (has_query && !forced && !rules.ignore_query) {
        return Err(Refusal::Unsaid);
    }
    let modified = says.modified.and_then(date);
    let since = modified.and_then(|modified| now.duration_since(modified).ok());
    let guess = match since {
        Some(since) => since.mul_f64(rules.modified_factor),
        None => rules.default_expire,
    };
    Ok(guess.max(rules.min_expire))
}

fn varied(asked: &[Field<'_>], lines: &[u8]) -> Result<Varied, Refusal> {
    let mut vary = Varied::new();
    for value in values(fields(lines), "vary") {
        for name in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            let name = name.to_ascii_lowercase();
            match name.as_slice() {
                b"" => {}
                b"*" => return Err(Refusal::VaryAny),
                _ if vary.iter().any(|(known, _)| *known == name) => {}
                _ if vary.len() == VARIED => return Err(Refusal::VaryAny),
                _ => {
                    let value = combined(asked, &name);
                    vary.push((name, value));
                }
            }
        }
    }
    Ok(vary)
}

pub(crate) fn date(value: &[u8]) -> Option<SystemTime> {
    httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()
}

#[cfg(test)]
mod tests;
