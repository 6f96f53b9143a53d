//! Times of the day as a person writes them: `14:05`, `2026-05-01 14:05:30`, `-10m`, `now`.

use crate::cli::bench::parse;
use std::fmt;
use time::macros::format_description;
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

/// Microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

pub fn now() -> Moment {
    Moment::of(OffsetDateTime::now_utc())
}

impl Moment {
    fn of(time: OffsetDateTime) -> Moment {
        Moment(u64::try_from(time.unix_timestamp_nanos() / 1000).unwrap_or(0))
    }

    fn local(self) -> Option<OffsetDateTime> {
        let time = OffsetDateTime::from_unix_timestamp((self.0 / 1_000_000) as i64).ok()?;
        Some(time.to_offset(offset(time)))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
        let text = self.local().and_then(|time| time.format(&form).ok());
        out.write_str(&text.unwrap_or_default())
    }
}

/// Returns the offset of this machine's time zone, or UTC if the machine does not tell.
fn offset(at: OffsetDateTime) -> UtcOffset {
    UtcOffset::local_offset_at(at).unwrap_or(UtcOffset::UTC)
}

/// Reads a time. A time of the day without a date is the last one that has been.
///
/// # Errors
/// The text is no such time.
pub fn moment(text: &str) -> Result<Moment, String> {
    read(text, OffsetDateTime::now_utc()).ok_or_else(|| {
        format!("expected a time such as 14:05, 14:05:30, \"2026-05-01 14:05\", -10m or now, not `{text}`")
    })
}

fn read(text: &str, now: OffsetDateTime) -> Option<Moment> {
    if text == "now" {
        return Some(Moment::of(now));
    }
    if let Some(ago) = text.strip_prefix('-') {
        let ago = parse::time(ago).ok()?;
        return now.checked_sub(ago.try_into().ok()?).map(Moment::of);
    }
    let today = now.to_offset(offset(now)).date();
    match text.split_once([' ', 'T']) {
        Some((date, time)) => {
            let date = Date::parse(date, format_description!("[year]-[month]-[day]")).ok()?;
            Some(Moment::of(in_zone(date, time_of_day(time)?)))
        }
        None => {
            let time = time_of_day(text)?;
            let meant = in_zone(today, time);
            if meant > now {
                Some(Moment::of(in_zone(today.previous_day()?, time)))
            } else {
                Some(Moment::of(meant))
            }
        }
    }
}

fn time_of_day(text: &str) -> Option<Time> {
    let minutes = Time::parse(text, format_description!("[hour]:[minute]"));
    let seconds = Time::parse(text, format_description!("[hour]:[minute]:[second]"));
    minutes.or(seconds).ok()
}

/// The offset is that of the meant time, which may lie beyond a change of the clocks.
fn in_zone(date: Date, time: Time) -> OffsetDateTime {
    let naive = PrimitiveDateTime::new(date, time);
    let near = naive.assume_offset(offset(naive.assume_utc()));
    naive.assume_offset(offset(near))
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    #[test]
    fn times_are_read_as_they_are_written() {
        let now = datetime!(2026-05-02 14:10:00 UTC);
        let zone = offset(now);
        let local = |text: &str| {
            let form = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
            PrimitiveDateTime::parse(text, form)
                .map(|it| Moment::of(it.assume_offset(zone)))
                .ok()
        };
        let here = now.to_offset(zone);
        let minute = |time: OffsetDateTime| {
            time.format(format_description!("[hour]:[minute]"))
                .expect("a time")
        };
        let before = here - time::Duration::minutes(5);
        assert_eq!(read(&minute(before), now), Some(Moment::of(before)));
        let after = here + time::Duration::minutes(5);
        let yesterday = after - time::Duration::days(1);
        assert_eq!(read(&minute(after), now), Some(Moment::of(yesterday)));
        let ago = now - time::Duration::minutes(10);
        assert_eq!(read("-10m", now), Some(Moment::of(ago)));
        assert_eq!(read("now", now), Some(Moment::of(now)));
        assert_eq!(
            read("2026-05-01 03:04:05", now),
            local("2026-05-01 03:04:05")
        );
        assert_eq!(read("2026-05-01T03:04", now), local("2026-05-01 03:04:00"));
        for text in ["", "25:00", "14", "14:5x", "-", "-10x", "2026-13-01 10:00"] {
            assert_eq!(read(text, now), None, "{text}");
        }
    }
}
