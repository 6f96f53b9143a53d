//! `VirtualDocumentRoot` and its relatives: folders whose names are made of the host's name or
//! address (Apache's mod_vhost_alias).

/// The folders of one host that are made of the request's host.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct VirtualRoots {
    /// `VirtualDocumentRoot`, `VirtualDocumentRootIP`.
    pub documents: Option<VirtualRoot>,
    /// `VirtualScriptAlias`, `VirtualScriptAliasIP`: the folder of `/cgi-bin/`.
    pub scripts: Option<VirtualRoot>,
}

/// A folder's name with parts of the host's name.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VirtualRoot {
    /// `none`: the directive of the main server does not count for this host.
    Off,
    Named(Vec<RootPiece>),
    /// Like `Named`, with the address that the client has connected to.
    Addressed(Vec<RootPiece>),
}

/// A piece of a folder's name.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootPiece {
    Literal(String),
    /// `%p`: the port.
    Port,
    /// `%N.M`: characters M of the name's part N.
    Part(Span, Option<Span>),
}

/// `N`, `-N`, `N+` or `-N+`: an item counted from the start or from the end, alone, or with all
/// items behind it (`N+`) or before it (`-N+`). 0 means all items.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Span {
    number: usize,
    from_end: bool,
    with_rest: bool,
}

/// What Apache takes for a part that the name does not have.
const MISSING: &str = "_";

impl VirtualRoots {
    pub fn are_any(&self) -> bool {
        self.documents.is_some() || self.scripts.is_some()
    }

    pub(crate) fn inherit(&mut self, main: &VirtualRoots) {
        let own = std::mem::take(self);
        self.documents = own.documents.or_else(|| main.documents.clone());
        self.scripts = own.scripts.or_else(|| main.scripts.clone());
    }
}

/// Returns the folder of a host with this name and port, without a final slash. `None`: the name
/// gives the folder a segment `.` or `..`.
pub fn folder(pieces: &[RootPiece], name: &str, port: u16) -> Option<String> {
    let mut folder = String::new();
    for piece in pieces {
        match piece {
            RootPiece::Literal(text) => folder.push_str(text),
            RootPiece::Port => folder.push_str(&port.to_string()),
            RootPiece::Part(part, characters) => {
                let mut text = part.part(name);
                if let Some(characters) = characters {
                    text = characters.characters(text);
                }
                folder.push_str(&text.to_ascii_lowercase());
            }
        }
    }
    let climbs = folder.split('/').any(|part| matches!(part, "." | ".."));
    let length = folder.trim_end_matches('/').len();
    folder.truncate(length);
    (!climbs).then_some(folder)
}

/// Reads a folder's name with `%` pieces. The error says what was expected.
pub(crate) fn pieces(text: &str) -> Result<Vec<RootPiece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((literal, behind)) = rest.split_once('%') {
        if !literal.is_empty() {
            pieces.push(RootPiece::Literal(literal.to_string()));
        }
        let (piece, behind) = piece(behind).ok_or_else(|| {
            format!("expected %%, %p, %N or %N.M (N and M: a digit, with - before or + behind it) at `%{behind}`")
        })?;
        pieces.push(piece);
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(RootPiece::Literal(rest.to_string()));
    }
    Ok(pieces)
}

/// Reads what stands behind a `%`. Returns the piece and the rest of the text.
fn piece(text: &str) -> Option<(RootPiece, &str)> {
    if let Some(rest) = text.strip_prefix('%') {
        return Some((RootPiece::Literal("%".to_string()), rest));
    }
    if let Some(rest) = text.strip_prefix('p') {
        return Some((RootPiece::Port, rest));
    }
    let (part, rest) = Span::read(text)?;
    let Some(behind) = rest.strip_prefix('.') else {
        return Some((RootPiece::Part(part, None), rest));
    };
    let (characters, rest) = Span::read(behind)?;
    Some((RootPiece::Part(part, Some(characters)), rest))
}

impl Span {
    fn read(text: &str) -> Option<(Span, &str)> {
        let (from_end, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let number = text.chars().next()?.to_digit(10)?;
        let text = &text[1..];
        let (with_rest, text) = match text.strip_prefix('+') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let span = Span {
            number: number as usize,
            from_end,
            with_rest,
        };
        Some((span, text))
    }

    /// Returns the first and the last item of the span, counted from 0. `None`: there are fewer
    /// items.
    fn range(self, count: usize) -> Option<(usize, usize)> {
        if self.number == 0 {
            return Some((0, count.checked_sub(1)?));
        }
        let at = self.number.checked_sub(1).filter(|at| *at < count)?;
        Some(match (self.from_end, self.with_rest) {
            (false, false) => (at, at),
            (false, true) => (at, count - 1),
            (true, false) => (count - 1 - at, count - 1 - at),
            (true, true) => (0, count - 1 - at),
        })
    }

    /// Returns the parts of a name between its dots.
    fn part(self, name: &str) -> &str {
        let dots: Vec<usize> = name.match_indices('.').map(|(at, _)| at).collect();
        let Some((first, last)) = self.range(dots.len() + 1) else {
            return MISSING;
        };
        let start = first.checked_sub(1).map_or(0, |before| dots[before] + 1);
        &name[start..dots.get(last).copied().unwrap_or(name.len())]
    }

    fn characters(self, text: &str) -> &str {
        match self.range(text.len()) {
            Some((first, last)) => text.get(first..=last).unwrap_or(MISSING),
            None if self.number == 0 => text,
            None => MISSING,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_the_folders_that_apaches_manual_gives() {
        let name = "www.domain.example.com";
        for (pattern, expected) in [
            ("/v/%0", "/v/www.domain.example.com"),
            ("/v/%1/%2", "/v/www/domain"),
            ("/v/%-1/%-2", "/v/com/example"),
            ("/v/%2+", "/v/domain.example.com"),
            ("/v/%-2+", "/v/www.domain.example"),
            ("/v/%3+/%2.1/%2.2/%2.3+", "/v/example.com/d/o/main"),
            ("/v/%2.-1/%2.-2/%2.-2+/%2", "/v/n/i/domai/domain"),
            ("/v/%5/%1.4", "/v/_/_"),
            ("/v/%%/%p/", "/v/%/80"),
        ] {
            let pieces = pieces(pattern).expect(pattern);
            let folder = folder(&pieces, name, 80);
            assert_eq!(folder.as_deref(), Some(expected), "{pattern}");
        }
    }

    #[test]
    fn no_name_climbs_out_of_the_folder() {
        for (pattern, name) in [("/v/%0", ".."), ("/v/%1.1%2.1", "..x"), ("/v/%0/x", ".")] {
            let folder = folder(&pieces(pattern).expect(pattern), name, 80);
            assert!(folder.is_none_or(|folder| !folder.contains("..")), "{name}");
        }
        for wrong in ["/v/%", "/v/%x", "/v/%1.", "/v/%-"] {
            assert!(pieces(wrong).is_err(), "{wrong}");
        }
    }
}
