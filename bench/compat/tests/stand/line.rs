//! Splits a command line into words: blanks separate words, single quotes keep a word together, and
//! `{name}` is replaced by a known value.

pub struct Places<'a> {
    pub known: Vec<(&'a str, String)>,
}

impl Places<'_> {
    pub fn words(&self, line: &str) -> Vec<String> {
        let line = self.filled(line);
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quoted = false;
        for character in line.chars() {
            match character {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_with(String::new);
                }
                ' ' if !quoted => words.extend(word.take()),
                other => word.get_or_insert_with(String::new).push(other),
            }
        }
        words.extend(word);
        words
    }

    fn filled(&self, word: &str) -> String {
        self.known
            .iter()
            .fold(word.to_string(), |word, (name, value)| {
                word.replace(&format!("{{{name}}}"), value)
            })
    }
}
