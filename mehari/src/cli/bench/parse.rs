//! Parses option values: times, rates, stages, speeds. Each error names what was expected.

use std::time::{Duration, SystemTime};

use mehari_load::Stage;

/// Parses a time such as `250ms`, `10s`, `1.5m` or `2h`. A number without a unit is seconds.
pub fn time(text: &str) -> Result<Duration, String> {
    let expected = || format!("expected a time such as 250ms, 10s, 1.5m or 2h, not `{text}`");
    let cut = text
        .find(|mark: char| mark.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(cut);
    let scale = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(number * scale).map_err(|_| expected())
}

/// Parses a rate such as `5000`, `5000/s`, `300/min` or `5k`. Returns requests per second.
pub fn rate(text: &str) -> Result<f64, String> {
    let expected = || format!("expected a rate such as 5000, 5k/s or 300/min, not `{text}`");
    let (number, per) = match text.split_once('/') {
        None | Some((_, "s")) => (text.trim_end_matches("/s"), 1.0),
        Some((number, "m" | "min")) => (number, 60.0),
        Some(_) => return Err(expected()),
    };
    let (number, scale) = match number.strip_suffix('k') {
        Some(number) => (number, 1000.0),
        None => (number, 1.0),
    };
    let rate = number.parse::<f64>().map_err(|_| expected())? * scale / per;
    if rate.is_finite() && rate >= 0.0 {
        Ok(rate)
    } else {
        Err(expected())
    }
}

/// Parses a stage such as `30s:1000/s` or `30s:0/s..1000/s`.
pub fn stage(text: &str) -> Result<Stage, String> {
    let (duration, rates) = text
        .split_once(':')
        .ok_or_else(|| format!("expected TIME:RATE/s or TIME:FROM/s..TO/s, not `{text}`"))?;
    let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
    Ok(Stage {
        duration: time(duration)?,
        from: rate(from)?,
        to: rate(to)?,
    })
}

/// Parses a speed in bits such as `33.6kbps` or `1Mbps`, or in bytes such as `4200B/s` or `64kB/s`.
/// Returns bytes per second.
pub fn speed(text: &str) -> Result<u64, String> {
    let expected = || format!("expected a speed such as 33.6kbps or 4200B/s, not `{text}`");
    let units = [
        ("Mbps", 125e3),
        ("kbps", 125.0),
        ("bps", 0.125),
        ("MB/s", 1e6),
        ("kB/s", 1e3),
        ("B/s", 1.0),
    ];
    let (number, scale) = units
        .iter()
        .find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)))
        .ok_or_else(expected)?;
    let bytes = number.parse::<f64>().map_err(|_| expected())? * scale;
    if (1.0..1e12).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(expected())
    }
}

/// Parses a header field `Name: value`.
pub fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| format!("expected a header field `Name: value`, not `{text}`"))?;
    Ok((name.trim().to_string(), value.trim().to_string()))
}

/// Reads a time: RFC 3339, or seconds since 1970.
pub fn start_time(text: &str) -> Result<SystemTime, String> {
    let micros = match text.parse::<f64>() {
        Ok(seconds) if (0.0..1e12).contains(&seconds) => Some((seconds * 1e6) as u64),
        _ => mehari_record::wall_clock::parse(text),
    };
    micros
        .map(|micros| SystemTime::UNIX_EPOCH + Duration::from_micros(micros))
        .ok_or_else(|| {
            format!(
                "expected a time such as 2026-01-31T12:00:00Z or seconds since 1970, not `{text}`"
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_their_units() {
        assert_eq!(time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(rate("5k/s"), Ok(5000.0));
        assert_eq!(rate("300/min"), Ok(5.0));
        assert_eq!(speed("33.6kbps"), Ok(4200));
        assert_eq!(speed("64kB/s"), Ok(64_000));
        let ramp = Stage {
            duration: Duration::from_secs(30),
            from: 0.0,
            to: 1000.0,
        };
        assert_eq!(stage("30s:0/s..1000/s"), Ok(ramp));
        assert_eq!(field("A: b:c"), Ok(("A".into(), "b:c".into())));
    }

    #[test]
    fn wrong_values_are_refused() {
        for wrong in ["", "s", "10x", "-1s", "nans"] {
            assert!(
                time(wrong).is_err_and(|error| error.contains("10s")),
                "{wrong}"
            );
        }
        for wrong in ["", "x", "5/h", "-5", "inf"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        for wrong in ["5", "kbps", "0B/s", "5 kb"] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
        assert!(stage("30s").is_err() && start_time("soon").is_err());
    }
}
