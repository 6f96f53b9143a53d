//! Replaces `${NAME}` in a line of the configuration.

use super::Definitions;
use crate::line::{self, Character, LONGEST};
use crate::problem::Fault;

impl Definitions {
    /// Returns the line with every `${NAME}` replaced. The characters of a value have the position
    /// of the `$`.
    pub(crate) fn expand(&self, line: &[Character]) -> Result<Vec<Character>, Fault> {
        let mut expanded = Vec::with_capacity(line.len());
        let mut rest = line;
        while let Some((character, at)) = rest.first() {
            match variable(rest) {
                Some(name) => {
                    let width = name.chars().count() + 3;
                    let Some(value) = self.variable(&name) else {
                        let known = self.names.keys().map(String::as_str);
                        let message = format!(
                        "`${{{name}}}` is not defined; expected `Define {name} VALUE` before it"
                    );
                        return Err(Fault::new(*at, message).or_nearest(&name, known));
                    };
                    expanded.extend(value.chars().map(|character| (character, *at)));
                    rest = &rest[width..];
                }
                None => {
                    expanded.push((*character, *at));
                    rest = &rest[1..];
                }
            }
            if expanded.len() > LONGEST {
                return Err(Fault::new(
                    *at,
                    format!("this line is longer than {LONGEST} characters"),
                ));
            }
        }
        Ok(expanded)
    }
}

/// Returns the name, if the text begins with `${NAME}`.
fn variable(text: &[Character]) -> Option<String> {
    let [('$', _), ('{', _), rest @ ..] = text else {
        return None;
    };
    let end = rest.iter().position(|(character, _)| *character == '}')?;
    let name = line::text(&rest[..end]);
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Lines;

    #[test]
    fn a_definition_that_doubles_itself_stops_at_the_longest_line() {
        let mut definitions = Definitions::default();
        definitions.names.insert("A".into(), "x".repeat(LONGEST));
        let line = Lines::of("Define A ${A}${A}").next().expect("a line");
        assert!(definitions.expand(&line).is_err());
    }
}
