//! Reads a pattern as PCRE2 does, and says what it is for each engine.
//!
//! The linear engine gets a pattern only if each part of it has a translation that means the same:
//! its syntax looks alike, but `\<`, `a++` and `[a&&b]` mean something else in it. PCRE2 gets the
//! pattern as it is, save for what Apache's options and older versions of PCRE2 read otherwise.

use super::bytes::Bytes;
use super::class;
use super::cursor::Cursor;

/// What a pattern is for each engine.
pub(super) struct Translated {
    /// None if the pattern has a part that only PCRE2 knows, or a fault that it has to report.
    pub(super) linear: Option<String>,
    pub(super) pcre: String,
}

pub(super) fn translated(text: &str) -> Translated {
    let mut reader = Reader {
        text: Cursor::new(text),
        linear: Some(String::new()),
        replaced: Vec::new(),
        groups: vec![Group::default()],
        last: Last::Other,
    };
    let start = reader.leading_verbs();
    reader.read();
    Translated {
        pcre: with_replacements(text, start, &reader.replaced),
        linear: reader.linear,
    }
}

/// Writes the pattern for PCRE2. Several groups may have the same name (`(?J)`), as in Apache.
fn with_replacements(text: &str, start: usize, replaced: &[(usize, &str)]) -> String {
    let mut whole = format!("{}(?J)", &text[..start]);
    let mut copied = start;
    for &(at, replacement) in replaced {
        whole.push_str(&text[copied..at]);
        whole.push_str(replacement);
        copied = at + 1;
    }
    whole.push_str(&text[copied..]);
    whole
}

/// What was read last, for a repetition that follows.
#[derive(Clone, Copy)]
enum Last {
    /// What can be repeated.
    Item {
        may_be_empty: bool,
    },
    Other,
}

/// A group that is being read, or the whole pattern.
#[derive(Clone, Copy, Default)]
struct Group {
    /// White space and comments are ignored (`x`).
    extended: bool,
    /// `$` matches before each newline (`m`).
    multi_line: bool,
    /// The branch that is being read matches at least one byte.
    branch_has_bytes: bool,
    /// A branch before it matches the empty text.
    may_be_empty: bool,
}

struct Reader<'t> {
    text: Cursor<'t>,
    linear: Option<String>,
    /// What PCRE2 gets in the place of a byte.
    replaced: Vec<(usize, &'static str)>,
    groups: Vec<Group>,
    last: Last,
}

impl<'t> Reader<'t> {
    fn read(&mut self) {
        while let Some(byte) = self.text.next() {
            match byte {
                b'\\' => self.escape(),
                b'[' => self.class(),
                b'(' => self.open(),
                b')' => self.close(),
                b'|' => self.branch(),
                b'*' => self.repetition("*", 0, true),
                b'+' => self.repetition("+", 1, true),
                b'?' => self.repetition("?", 0, false),
                b'{' => self.brace(),
                b'.' => self.item("."),
                b'^' => self.assertion("^"),
                b'$' => self.end_of_text(),
                b'#' if self.group().extended => self.text.skip_past(b'\n'),
                other => self.literal(other),
            }
        }
        if self.groups.len() > 1 {
            self.linear = None;
        }
    }

    fn group(&mut self) -> &mut Group {
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn write(&mut self, text: &str) {
        if let Some(linear) = &mut self.linear {
            linear.push_str(text);
        }
    }

    /// Notes the item before this place: no repetition can follow it.
    fn finish_last(&mut self) {
        if matches!(
            self.last,
            Last::Item {
                may_be_empty: false
            }
        ) {
            self.group().branch_has_bytes = true;
        }
        self.last = Last::Other;
    }

    fn item(&mut self, linear: &str) {
        self.finish_last();
        self.write(linear);
        self.last = Last::Item {
            may_be_empty: false,
        };
    }

    fn literal(&mut self, byte: u8) {
        if byte.is_ascii_alphanumeric() {
            self.item(char::from(byte).encode_utf8(&mut [0]));
        } else {
            self.item(&format!("\\x{byte:02X}"));
        }
    }

    fn assertion(&mut self, linear: &str) {
        self.finish_last();
        self.write(linear);
    }

    /// Notes something that only PCRE2 knows.
    fn foreign(&mut self) {
        self.linear = None;
    }

    /// `$` matches at the end of the text only, and not before a newline there (Apache's option
    /// DOLLAR_ENDONLY).
    fn end_of_text(&mut self) {
        if !self.group().multi_line {
            self.replaced.push((self.text.at - 1, "\\z"));
        }
        self.assertion("$");
    }

    fn branch(&mut self) {
        self.finish_last();
        let group = self.group();
        group.may_be_empty |= !group.branch_has_bytes;
        group.branch_has_bytes = false;
        self.write("|");
    }

    fn close(&mut self) {
        self.finish_last();
        let group = *self.group();
        if self.groups.len() == 1 {
            return self.foreign();
        }
        self.groups.pop();
        self.write(")");
        let may_be_empty = group.may_be_empty || !group.branch_has_bytes;
        self.last = Last::Item { may_be_empty };
    }

    /// The engines differ in the groups of a repetition without end over what may be empty, and in
    /// the meaning of `a++` and `a**`.
    fn repetition(&mut self, written: &str, least: u32, without_end: bool) {
        let Last::Item { may_be_empty } = self.last else {
            return self.foreign();
        };
        self.last = Last::Other;
        if self.text.take(b"+") || may_be_empty && without_end {
            return self.foreign();
        }
        self.group().branch_has_bytes |= least > 0 && !may_be_empty;
        self.write(written);
        if self.text.take(b"?") {
            self.write("?");
        }
    }

    /// A brace that begins no repetition is literal. `{,5}` and `{ 5 }` are repetitions in PCRE2
    /// since 10.43, but not in the versions before it.
    fn brace(&mut self) {
        let count = self.text.until("}").and_then(Count::parsed);
        match count {
            Some(count) => {
                self.text.at += count.text.len() + 1;
                self.repetition(
                    &format!("{{{}}}", count.text),
                    count.least,
                    count.without_end,
                );
            }
            None => {
                self.replaced.push((self.text.at - 1, "\\{"));
                self.literal(b'{');
            }
        }
    }

    fn escape(&mut self) {
        let Some(letter) = self.text.next() else {
            return self.foreign();
        };
        if let Some(bytes) = Bytes::escaped(letter) {
            return self.item(&bytes.write(false));
        }
        if let Some(byte) = self.text.single(letter) {
            return self.literal(byte);
        }
        match letter {
            b'N' if !self.text.rest().starts_with(b"{") => self.item(&Bytes::newline().write(true)),
            b'A' => self.assertion("\\A"),
            b'b' => self.assertion("\\b"),
            b'B' => self.assertion("\\B"),
            b'z' => self.assertion("\\z"),
            b'Q' => self
                .text
                .quoted()
                .iter()
                .for_each(|byte| self.literal(*byte)),
            b'c' => {
                self.text.next();
                self.foreign();
            }
            other => self.foreign_escape(other),
        }
    }

    /// Skips the argument in braces of an escape such as `\p{L}`: it begins no repetition.
    fn foreign_escape(&mut self, letter: u8) {
        self.foreign();
        let argument = self
            .text
            .until("}")
            .filter(|argument| argument.starts_with('{'));
        let is_repetition = argument
            .and_then(|text| Count::parsed(&text[1..]))
            .is_some();
        let has_argument = match letter {
            b'P' | b'g' | b'k' | b'o' | b'p' | b'x' => true,
            b'N' => !is_repetition,
            _ => false,
        };
        if has_argument && argument.is_some() {
            self.text.skip_past(b'}');
        }
    }

    /// Skips verbs such as `(*UTF)` at the start.
    fn leading_verbs(&mut self) -> usize {
        while self.text.rest().starts_with(b"(*")
            && self.text.rest().get(2).is_some_and(u8::is_ascii_uppercase)
        {
            self.text.skip_past(b')');
            self.foreign();
        }
        self.text.at
    }

    fn open(&mut self) {
        if self.text.take(b"?#") {
            return self.comment();
        }
        self.finish_last();
        if self.text.take(b"?") {
            self.open_special();
        } else if self.text.rest().starts_with(b"*") {
            self.open_verb();
        } else {
            self.begin_group("(");
        }
    }

    fn comment(&mut self) {
        if self.text.until(")").is_none() {
            self.foreign();
        }
        self.text.skip_past(b')');
    }

    fn begin_group(&mut self, linear: &str) {
        self.write(linear);
        let outer = *self.group();
        self.groups.push(Group {
            branch_has_bytes: false,
            may_be_empty: false,
            ..outer
        });
    }

    fn begin_foreign_group(&mut self) {
        self.foreign();
        self.begin_group("");
    }

    /// `(*VERB)` stands alone; `(*atomic:...)` is a group.
    fn open_verb(&mut self) {
        self.text.at += 1;
        if self.text.rest().first().is_some_and(u8::is_ascii_lowercase) {
            return self.begin_foreign_group();
        }
        self.foreign();
        self.text.skip_past(b')');
    }

    /// Reads what follows `(?`.
    fn open_special(&mut self) {
        if self.text.take(b":") {
            return self.begin_group("(?:");
        }
        if let Some(name) = self.group_name() {
            return self.begin_group(&format!("(?P<{name}>"));
        }
        if self.flags() {
            return;
        }
        let begins_group = [&b"="[..], b"!", b"<", b">", b"|", b"*", b"'", b"(", b"P<"];
        if begins_group
            .iter()
            .any(|start| self.text.rest().starts_with(start))
        {
            // A condition's own parentheses are a group in this group.
            self.text.at += usize::from(!self.text.rest().starts_with(b"("));
            return self.begin_foreign_group();
        }
        // A call such as `(?1)`.
        self.foreign();
        self.text.skip_past(b')');
    }

    /// Reads `<name>` or `P<name>`.
    fn group_name(&mut self) -> Option<&'t str> {
        let before = self.text.until(">")?;
        let name = before
            .strip_prefix('P')
            .unwrap_or(before)
            .strip_prefix('<')?;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !name.bytes().all(is_word) || !name.starts_with(|c: char| !c.is_ascii_digit()) {
            return None;
        }
        self.text.at += before.len() + 1;
        Some(name)
    }

    /// Reads flags: `i)` for the rest of the group, or `i:` for a new group.
    fn flags(&mut self) -> bool {
        let is_flag = |byte: &&u8| b"imsxnJUar^-".contains(byte);
        let length = self.text.rest().iter().take_while(is_flag).count();
        let end = self.text.rest().get(length).copied();
        let Some(end @ (b')' | b':')) = end else {
            return false;
        };
        let flags = String::from_utf8_lossy(&self.text.rest()[..length]).into_owned();
        let is_first = self.text.at == "(?".len();
        self.text.at += length + 1;
        let is_known = flags.bytes().all(|flag| b"is-".contains(&flag));
        if !is_known || end == b')' && !is_first {
            self.foreign();
        }
        match end {
            b':' => self.begin_group(&format!("(?{flags}:")),
            _ => self.write(&format!("(?{flags})")),
        }
        self.group().set(&flags);
        true
    }

    fn class(&mut self) {
        match class::read(&mut self.text) {
            Some(class) => self.item(&class),
            None => self.foreign(),
        }
    }
}

impl Group {
    /// Takes flags such as `x-m`. `^` takes all away.
    fn set(&mut self, flags: &str) {
        let mut is_on = true;
        for flag in flags.bytes() {
            match flag {
                b'-' => is_on = false,
                b'^' => (self.extended, self.multi_line) = (false, false),
                b'x' => self.extended = is_on,
                b'm' => self.multi_line = is_on,
                _ => {}
            }
        }
    }
}

/// A repetition such as `{2,5}`.
struct Count<'t> {
    text: &'t str,
    least: u32,
    without_end: bool,
}

impl Count<'_> {
    /// Parses what stands in the braces.
    fn parsed(text: &str) -> Option<Count<'_>> {
        let (least, most) = text.split_once(',').unwrap_or((text, text));
        let are_digits = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
        (!least.is_empty() && are_digits(least) && are_digits(most)).then(|| Count {
            text,
            least: least.parse().unwrap_or(u32::MAX),
            without_end: most.is_empty(),
        })
    }
}
