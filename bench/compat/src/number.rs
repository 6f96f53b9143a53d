//! Reads and writes numbers as the original tools do: like C's `atoi`, `strtod` and `strtoul`, and
//! like `%g` of `printf`.

/// Reads a number like C's `atoi`: leading blanks, a sign, digits; 0 without digits. A value beyond
/// 32 bits becomes the nearest 32-bit value (C leaves this undefined).
pub fn atoi(text: &[u8]) -> i32 {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0i64, |sum, digit| {
            (sum * 10 + i64::from(digit - b'0')).min(i64::from(i32::MAX) + 1)
        });
    let value = if negative { -magnitude } else { magnitude };
    value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// Returns the longest prefix of `text` that is a decimal number, and the text after it; `None`
/// without such a prefix.
pub fn leading_number(text: &str) -> Option<(f64, &str)> {
    let trimmed = text.trim_start();
    let number_like = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let mut end = trimmed.find(|c| !number_like(c)).unwrap_or(trimmed.len());
    while end > 0 {
        if let Ok(value) = trimmed[..end].parse::<f64>() {
            return Some((value, &trimmed[end..]));
        }
        end -= 1;
    }
    None
}

/// Returns the integer prefix of `text` and the text after it, like `strtoul(text, &end, 10)`.
pub fn leading_integer(text: &str) -> Option<(u64, &str)> {
    let trimmed = text.trim_start();
    let end = trimmed
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(trimmed.len());
    let value = trimmed[..end].parse().ok()?;
    Some((value, &trimmed[end..]))
}

/// Formats `value` like `printf("%g")`: six significant digits, no trailing zeros, and an exponent
/// below 1e-4 and from 1e6 on.
pub fn general(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().to_lowercase();
    }
    if value == 0.0 {
        return "0".into();
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let decimals = (5 - exponent) as usize;
        return without_trailing_zeros(&format!("{value:.decimals$}")).into();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!(
        "{}e{sign}{:02}",
        without_trailing_zeros(mantissa),
        exponent.abs()
    )
}

fn without_trailing_zeros(digits: &str) -> &str {
    if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_prints_as_printf_does() {
        let rows = [
            (0.0, "0"),
            (1.0, "1"),
            (2.49678, "2.49678"),
            (5_336_060.0, "5.33606e+06"),
            (96_870.0, "96870"),
            (999_999.5, "1e+06"),
            (0.0001, "0.0001"),
            (0.00001234, "1.234e-05"),
            (48_372.66, "48372.7"),
            (-1.5, "-1.5"),
        ];
        for (value, text) in rows {
            assert_eq!(general(value), text);
        }
    }

    #[test]
    fn atoi_reads_a_prefix_and_never_overflows() {
        let rows: [(&[u8], i32); 6] = [
            (b"12x", 12),
            (b"  -5", -5),
            (b"abc", 0),
            (b"", 0),
            (b"99999999999999999999", i32::MAX),
            (b"+7", 7),
        ];
        for (text, value) in rows {
            assert_eq!(atoi(text), value);
        }
    }

    #[test]
    fn leading_number_returns_the_text_after_the_number() {
        assert_eq!(leading_number("0.5,3"), Some((0.5, ",3")));
        assert_eq!(leading_number("3e"), Some((3.0, "e")));
        assert_eq!(leading_number("x"), None);
        assert_eq!(leading_integer("0/2"), Some((0, "/2")));
        assert_eq!(leading_integer("-1"), None);
    }
}
