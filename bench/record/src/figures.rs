//! Formats numbers for people: three significant digits and a unit.

/// Formats a duration, such as `950 ns`, `12.3 µs`, `1.50 ms`, `2.00 s`, `3.50 min`.
pub fn duration(ns: u64) -> String {
    let ns = ns as f64;
    let (value, unit) = match ns {
        n if n < 999.5 => return format!("{n} ns"),
        n if n < 999.5e3 => (n / 1e3, "µs"),
        n if n < 999.5e6 => (n / 1e6, "ms"),
        n if n < 60e9 => (n / 1e9, "s"),
        n => (n / 60e9, "min"),
    };
    format!("{} {unit}", significant(value))
}

/// Formats a number with three significant digits: `1.23`, `12.3`, `123`, `12,300`.
pub fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v < 0.995e-3 => format!("{value:.2e}"),
        v if v < 0.9995 => format!("{value:.3}"),
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        v if v < 999.5 => format!("{value:.0}"),
        v => {
            let unit = 10f64.powf(v.log10().floor() - 2.0);
            grouped(((value / unit).round() * unit).round() as i64)
        }
    }
}

/// Formats a number as shortly as possible, with at most three decimals: `0.5`, `20`.
pub fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a count, such as `1,234,567`.
pub fn count(value: u64) -> String {
    grouped(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Formats bytes in units of powers of a thousand, such as `1.50 MB`.
pub fn bytes(value: f64) -> String {
    let (value, unit) = match value {
        v if v < 1e3 => (v, "B"),
        v if v < 1e6 => (v / 1e3, "kB"),
        v if v < 1e9 => (v / 1e6, "MB"),
        v => (v / 1e9, "GB"),
    };
    format!("{} {unit}", significant(value))
}

fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::from(if value < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_fitting_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (950, "950 ns"),
            (12_345, "12.3 µs"),
            (999_600, "1.00 ms"),
            (1_500_000, "1.50 ms"),
            (2_000_000_000, "2.00 s"),
            (210_000_000_000, "3.50 min"),
        ] {
            assert_eq!(duration(ns), text);
        }
    }

    #[test]
    fn large_numbers_are_grouped_and_rounded_to_three_digits() {
        assert_eq!(significant(145_678.0), "146,000");
        assert_eq!(significant(0.0123), "0.012");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(1_500_000.0), "1.50 MB");
    }
}
