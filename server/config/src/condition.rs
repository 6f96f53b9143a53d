//! `<IfModule>`, `<IfDefine>`, `<IfVersion>`: decides whether the enclosed lines are read.

use crate::definitions::Definitions;
use crate::httpd::HTTPD_VERSION;
use crate::line::Word;
use crate::problem::Fault;

/// Tells whether the condition is true. `name` is the section's name in lower case.
pub(crate) fn holds(
    name: &str,
    opening: &Word,
    words: &[Word],
    definitions: &Definitions,
    root: &std::path::Path,
) -> Result<bool, Fault> {
    let usage = match name {
        "ifversion" => "<IfVersion [!][=|>|>=|<|<=] VERSION>` or `<IfVersion [!]~ REGEX>",
        "ifdefine" => "<IfDefine [!]NAME>",
        "iffile" => "<IfFile [!]FILE>",
        "ifdirective" => "<IfDirective [!]NAME>",
        "ifsection" => "<IfSection [!]NAME>",
        _ => "<IfModule [!]mod_name.c|name_module>",
    };
    let missing = || Fault::new(opening.at, format!("a word is missing; expected `{usage}`"));
    let first = words.first().ok_or_else(missing)?;
    let (negated, subject) = match first.text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, first.text.as_str()),
    };
    let answer = match name {
        "ifversion" if is_pattern(words) => {
            let text = words[1].text.trim_matches('/');
            let compiled = crate::Pattern::new(text);
            let wrong = |why| format!("expected a regular expression ({why}), not `{text}`");
            let pattern = compiled.map_err(|why| Fault::new(words[1].at, wrong(why)))?;
            pattern.matches(HTTPD_VERSION.as_bytes())
        }
        "ifversion" => {
            let (operator, version) = match words.get(1) {
                Some(version) => (subject, version.text.as_str()),
                None => ("=", subject),
            };
            compare(operator, version).ok_or_else(|| {
                let message = format!("`{}` cannot be compared; expected `{usage}`", first.text);
                Fault::new(first.at, message)
            })?
        }
        "ifdefine" if !subject.is_empty() => definitions.names.contains_key(subject),
        "iffile" if !subject.is_empty() => root.join(subject).exists(),
        "ifdirective" if !subject.is_empty() => crate::Directive::named(subject).is_some(),
        "ifsection" if !subject.is_empty() => {
            let name = subject.trim_start_matches('<');
            let mut known = crate::SECTIONS.iter();
            known.any(|kind| kind.name.eq_ignore_ascii_case(name))
        }
        "ifmodule" if !subject.is_empty() => definitions.has_module(subject),
        _ => return Err(missing()),
    };
    Ok(answer != negated)
}

/// Tells whether `<IfVersion>` has a regular expression: `~ REGEX` or `= /REGEX/`.
fn is_pattern(words: &[Word]) -> bool {
    let [operator, version, ..] = words else {
        return false;
    };
    let is_equality = ["=", "=="].contains(&operator.text.trim_start_matches('!'));
    let has_slashes = version.text.len() > 1 && version.text.starts_with('/');
    operator.text.trim_start_matches('!') == "~"
        || is_equality && has_slashes && version.text.ends_with('/')
}

fn compare(operator: &str, version: &str) -> Option<bool> {
    let mut wanted = [0; 3];
    let mut given = 0;
    for part in version.split('.') {
        *wanted.get_mut(given)? = part.parse().ok()?;
        given += 1;
    }
    // Only the written parts are compared, so `2.4` matches every version 2.4.x.
    let own = HTTPD_VERSION
        .split('.')
        .filter_map(|part| part.parse().ok());
    let ordering = own.take(given).cmp(wanted[..given].iter().copied());
    Some(match operator {
        "=" | "==" => ordering.is_eq(),
        ">" => ordering.is_gt(),
        ">=" => ordering.is_ge(),
        "<" => ordering.is_lt(),
        "<=" => ordering.is_le(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn if_version_compares_only_the_written_parts() {
        for (operator, version, expected) in [
            (">=", "2.4", Some(true)),
            ("=", "2.4", Some(true)),
            ("<", "2.4.0", Some(false)),
            (">", "2.2.99", Some(true)),
            ("<", "2.3", Some(false)),
            ("~", "2.4", None),
            ("=", "two", None),
            ("=", "2.4.1.1", None),
        ] {
            assert_eq!(compare(operator, version), expected, "{operator} {version}");
        }
    }
}
