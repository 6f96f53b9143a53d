//! Converts wall-clock times: microseconds since 1970 in memory, RFC 3339 text in files.

use serde::{de::Error as _, Deserialize, Deserializer, Serializer};
use time::format_description::well_known::Rfc3339;
use time::OffsetDateTime;

/// Returns the present time in microseconds since 1970.
pub fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

/// Returns the time as text, such as `2026-11-21T20:29:27.000123Z`. A time after the year 9999
/// becomes the last time of that year.
pub fn text(unix_us: u64) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_us) * 1_000)
        .ok()
        .and_then(|instant| instant.format(&Rfc3339).ok())
        .unwrap_or_else(|| "9999-12-31T23:59:59Z".to_owned())
}

pub fn parse(text: &str) -> Option<u64> {
    let instant = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    u64::try_from(instant.unix_timestamp_nanos() / 1_000).ok()
}

/// Writes the time as RFC 3339 text.
///
/// # Errors
///
/// The error of the serializer.
pub fn serialize<S: Serializer>(unix_us: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*unix_us))
}

/// Reads the time from RFC 3339 text.
///
/// # Errors
///
/// The error of the deserializer, or a text that is not a time.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse(&text).ok_or_else(|| {
        D::Error::custom(format!(
            "`{text}` is not an RFC 3339 time such as 2026-01-31T12:00:00Z"
        ))
    })
}
