//! Reads a statement of SQL: removes the values, so that no value leaves the machine, and finds the
//! words that summarise the statement.

use std::iter::Peekable;
use std::str::CharIndices;

/// Returns the statement with `?` in place of each text and each number. Some databases take
/// double quotes for a name and others for a text, so what stands in them is removed too.
pub fn without_values(statement: &str) -> String {
    let mut kept = String::with_capacity(statement.len());
    let mut rest = statement.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = rest.next() {
        let is_in_word = before.is_alphanumeric() || before == '_' || before == '$';
        match c {
            '\'' | '"' => {
                skip_text(&mut rest, c);
                kept.push('?');
            }
            '$' if !is_in_word => match dollar_quote(&statement[at..]) {
                Some(length) => {
                    while rest.next_if(|(next, _)| *next < at + length).is_some() {}
                    kept.push('?');
                }
                None => kept.push(c),
            },
            c if c.is_ascii_digit() && !is_in_word => {
                while rest
                    .next_if(|(_, c)| c.is_alphanumeric() || *c == '.')
                    .is_some()
                {}
                kept.push('?');
            }
            c => kept.push(c),
        }
        before = c;
    }
    kept
}

/// Returns the operation and the table of a statement, as far as its first words tell them.
pub fn summary(statement: &str) -> Option<String> {
    let mut words = statement.split_whitespace();
    let first = words.next()?;
    let is_word = |word: &str| word.len() <= 20 && word.bytes().all(|it| it.is_ascii_alphabetic());
    let operation = Some(first)
        .filter(|word| is_word(word))?
        .to_ascii_uppercase();
    let table = words
        .by_ref()
        .find(|word| {
            let leads = ["FROM", "INTO", "TABLE"];
            leads.iter().any(|lead| word.eq_ignore_ascii_case(lead))
        })
        .and_then(|_| words.next());
    let table = match operation.as_str() {
        "UPDATE" => statement.split_whitespace().nth(1),
        _ => table,
    };
    let table = table.map(|word| word.split(['(', ';', ',']).next().unwrap_or_default());
    let is_name = |name: &&str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.len() <= 100
            && name.bytes().all(is_part)
    };
    Some(match table.filter(is_name) {
        Some(table) => format!("{operation} {table}"),
        None => operation,
    })
}

/// Skips to the end of a text in quotes. A doubled quote and a quote after `\` are parts of the
/// text.
fn skip_text(rest: &mut Peekable<CharIndices<'_>>, quote: char) {
    while let Some((_, c)) = rest.next() {
        let is_end = match c {
            '\\' => {
                rest.next();
                false
            }
            c if c == quote => rest.next_if(|(_, c)| *c == quote).is_none(),
            _ => false,
        };
        if is_end {
            return;
        }
    }
}

/// Returns the length of a text in dollar quotes (PostgreSQL) at the start of `text`. A text
/// without an end reaches to the end of the statement.
fn dollar_quote(text: &str) -> Option<usize> {
    let tag = text[1..].find('$')? + 2;
    let is_tag = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !text[1..tag - 1].bytes().all(is_tag) || text.as_bytes()[1].is_ascii_digit() {
        return None;
    }
    let end = text[tag..].find(&text[..tag]);
    Some(end.map_or(text.len(), |at| tag + at + tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers_are_removed_and_names_stay() {
        for (statement, kept) in [
            (
                "SELECT a1 FROM t WHERE b = 'x'",
                "SELECT a1 FROM t WHERE b = ?",
            ),
            ("... 'it''s' , 'a\\'b', 7.5e3)", "... ? , ?, ?)"),
            ("a = \"it's\" OR b = 'say \"'", "a = ? OR b = ?"),
            ("LIMIT 10", "LIMIT ?"),
            ("a = ? AND b_2 = 0x1F", "a = ? AND b_2 = ?"),
            ("a = $1 AND b = $$hidden$$ AND c", "a = $1 AND b = ? AND c"),
            ("b = $t$hid $$ den$t$", "b = ?"),
            ("b = $t$open", "b = ?"),
            ("cost > 5$ é 'x'", "cost > ?$ é ?"),
            ("open 'without end", "open ?"),
            ("", ""),
        ] {
            assert_eq!(without_values(statement), kept, "{statement}");
        }
    }

    #[test]
    fn summary_is_the_operation_and_its_table() {
        for (statement, expected) in [
            ("select * from shop.item where a", Some("SELECT shop.item")),
            ("INSERT INTO item(id) VALUES (?)", Some("INSERT item")),
            (" update\n item set a = ?", Some("UPDATE item")),
            ("DELETE FROM \"my table\" WHERE 1", Some("DELETE")),
            ("CREATE TABLE t (a)", Some("CREATE t")),
            ("SELECT a FROM 1234", Some("SELECT")),
            ("BEGIN", Some("BEGIN")),
            ("{call x}", None),
            ("", None),
        ] {
            assert_eq!(summary(statement).as_deref(), expected, "{statement}");
        }
    }
}
