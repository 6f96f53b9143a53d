//! Reads the file of `--wsesslog`: sessions, which consist of bursts of requests.
//!
//! `#` in the first column starts a comment. A blank line ends a session. A line that starts with a
//! blank belongs to the burst of the previous line. A line holds a URI and may add `method=M`,
//! `think=SECONDS`, `contents='...'` or `contents="..."`. The contents may contain the escapes
//! `\n`, `\r`, `\t` and an escaped line end.

/// One request of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LoggedCall {
    /// The method of this line. `None` means the method of `--method`, or GET without it.
    pub method: Option<&'static str>,
    pub uri: String,
    pub contents: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LoggedBurst {
    pub calls: Vec<LoggedCall>,
    /// Seconds of think time after the burst.
    pub think: f64,
}

pub type LoggedSession = Vec<LoggedBurst>;

const METHODS: &[&str] = &["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT", "TRACE"];

/// Reads the file's text.
///
/// # Errors
/// httperf's message, without the name before it.
pub fn read(text: &str, file: &str, default_think: f64) -> Result<Vec<LoggedSession>, String> {
    let mut sessions: Vec<LoggedSession> = Vec::new();
    let mut between = true;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            continue;
        }
        let mut words = Words {
            rest: line,
            lines: &mut lines,
        };
        let Some(uri) = words.plain() else {
            between = true;
            continue;
        };
        if std::mem::take(&mut between) {
            sessions.push(Vec::new());
        }
        let session = sessions.last_mut().ok_or("a request outside a session")?;
        if session.is_empty() || !line.starts_with(char::is_whitespace) {
            session.push(LoggedBurst {
                calls: Vec::new(),
                think: default_think,
            });
        }
        let burst = session.last_mut().ok_or("a request outside a burst")?;
        burst.calls.push(LoggedCall {
            method: Some("GET"),
            uri,
            contents: Vec::new(),
        });
        parameters(&mut words, burst, file)?;
    }
    Ok(sessions)
}

fn parameters(words: &mut Words, burst: &mut LoggedBurst, file: &str) -> Result<(), String> {
    while let Some(name) = words.name() {
        let call = burst
            .calls
            .last_mut()
            .ok_or("a parameter without a request")?;
        match name {
            "method" => {
                let word = words.plain().unwrap_or_default();
                let known = METHODS.iter().find(|method| word.starts_with(**method));
                call.method = Some(
                    *known.ok_or_else(|| format!("did not recognize method '{word}' in {file}"))?,
                );
            }
            "think" => {
                let word = words.plain().unwrap_or_default();
                burst.think = word
                    .parse()
                    .ok()
                    .filter(|seconds: &f64| *seconds >= 0.0)
                    .ok_or_else(|| format!("did not recognize arg 'think={word}' in {file}"))?;
            }
            "contents" => {
                let contents = words
                    .quoted()
                    .ok_or_else(|| format!("premature EOF seen in '{file}'"))?;
                call.contents = contents.into_bytes();
            }
            other => return Err(format!("did not recognize arg '{other}' in {file}")),
        }
    }
    Ok(())
}

/// The words of a line. A quoted word may continue on the next lines.
struct Words<'a, 'l> {
    rest: &'a str,
    lines: &'l mut std::str::Lines<'a>,
}

impl<'a> Words<'a, '_> {
    /// Returns the text up to the next blank; `None` at the end of the line.
    fn plain(&mut self) -> Option<String> {
        let rest = self.rest.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.rest = &rest[end..];
        (end > 0).then(|| rest[..end].to_string())
    }

    /// Returns the name of the next `name=value`, or the whole word if it has no `=`.
    fn name(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let name_end = rest[..end].find('=').unwrap_or(end);
        self.rest = rest.get(name_end + 1..).unwrap_or("");
        Some(&rest[..name_end])
    }

    /// Returns a value with quotes and escapes; `None` if the file ends after an escaped line end.
    fn quoted(&mut self) -> Option<String> {
        let mut value = String::new();
        let mut quote = None;
        let mut at = self.rest.char_indices();
        loop {
            let Some((place, character)) = at.next() else {
                self.rest = "";
                return Some(value);
            };
            match (character, quote) {
                ('\\', _) => match at.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, other)) => value.push(other),
                    None => {
                        value.push('\n');
                        self.rest = self.lines.next()?;
                        at = self.rest.char_indices();
                    }
                },
                (character, Some(open)) if character == open => quote = None,
                ('"' | '\'', None) => quote = Some(character),
                (character, None) if character.is_whitespace() => {
                    self.rest = &self.rest[place..];
                    return Some(value);
                }
                (character, _) => value.push(character),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_bursts_and_parameters_are_read() {
        let text = "# a comment\n/a think=2.5\n\t/b\n/c method=POST contents=\"hello \\\"w\\\"\"\n\n\n/d contents='it is' method=PUT\n";
        let sessions = read(text, "file", 1.0).expect("the file is well formed");
        assert_eq!(sessions.len(), 2);
        let [first, second] = &sessions[0][..] else {
            panic!("{sessions:?}")
        };
        assert_eq!((first.calls.len(), first.think), (2, 2.5));
        assert_eq!((second.calls[0].method, second.think), (Some("POST"), 1.0));
        assert_eq!(second.calls[0].contents, b"hello \"w\"");
        assert_eq!(sessions[1][0].calls[0].contents, b"it is");
        assert_eq!(sessions[1][0].calls[0].method, Some("PUT"));
    }

    #[test]
    fn contents_may_contain_an_escaped_line_end() {
        let sessions =
            read("/a contents='x\\\ny' think=1\n", "file", 0.0).expect("it is well formed");
        assert_eq!(sessions[0][0].calls[0].contents, b"x\ny");
        assert_eq!(sessions[0][0].think, 1.0);
    }

    #[test]
    fn unreadable_words_are_named() {
        let rows = [
            (
                "/a method=FETCH\n",
                "did not recognize method 'FETCH' in file",
            ),
            ("/a colour=red\n", "did not recognize arg 'colour' in file"),
        ];
        for (text, said) in rows {
            assert_eq!(read(text, "file", 0.0), Err(said.to_string()));
        }
    }
}
