//! Processes an element by its name: appends the output, or changes the state of the page.

use super::render::{Document, ElementError, Manner, Render};
use base64::Engine;
use mehari_http::path::resolved;
use mehari_text::{html, percent};
use std::os::unix::ffi::OsStrExt;

type Attributes = [(String, Vec<u8>)];

impl Render {
    pub(super) async fn element(
        &self,
        name: &str,
        attributes: &Attributes,
        document: &Document,
        manner: &mut Manner,
        into: &mut Vec<u8>,
    ) -> Result<(), ElementError> {
        match name {
            "include" => self.include(attributes, document, manner, into).await,
            "echo" => self.echo(attributes, manner, into),
            "set" => self.set(attributes, manner),
            "config" => self.config(attributes, manner),
            "printenv" => {
                for (name, value) in self.variables.borrow().all(&manner.time) {
                    encode(&name, "entity", into)?;
                    into.push(b'=');
                    encode(&value, "entity", into)?;
                    into.push(b'\n');
                }
                Ok(())
            }
            "fsize" | "flastmod" => {
                let file = self.file(attributes, document, manner).await?;
                let file = std::path::Path::new(std::ffi::OsStr::from_bytes(&file));
                let found = std::fs::metadata(file).map_err(|error| error.to_string())?;
                match name {
                    "fsize" if manner.short_sizes => into.extend(short_size(found.len()).bytes()),
                    "fsize" => into.extend(grouped(found.len()).bytes()),
                    _ => {
                        let modified = found.modified().map_err(|error| error.to_string())?;
                        into.extend(mehari_observe::local_time(modified, &manner.time));
                    }
                }
                Ok(())
            }
            "exec" => self.exec(attributes, document, manner, into).await,
            "comment" => Ok(()),
            other => Err(format!(
                "expected include, echo, set, if, config, fsize, flastmod, printenv or exec, not `{other}`"
            )),
        }
    }

    /// Processes each `virtual` and `file`. After an error, the path in `onerror` is included
    /// instead.
    async fn include(
        &self,
        attributes: &Attributes,
        document: &Document,
        manner: &Manner,
        into: &mut Vec<u8>,
    ) -> Result<(), ElementError> {
        let instead = attributes.iter().find(|(name, _)| name == "onerror");
        let mut seen = false;
        for (name, value) in attributes.iter().filter(|(name, _)| name != "onerror") {
            let target = self.target(name, &self.put_in(value, manner)?, document)?;
            seen = true;
            match (self.fetch(target, into).await, instead) {
                (Ok(()), _) => {}
                (Err(why), None) => return Err(why),
                (Err(_), Some((_, value))) => {
                    let target = self.target("virtual", &self.put_in(value, manner)?, document)?;
                    self.fetch(target, into).await?;
                }
            }
        }
        if seen {
            Ok(())
        } else {
            Err("expected `virtual` or `file` of an include".into())
        }
    }

    /// Returns the path that an attribute names.
    fn target(
        &self,
        name: &str,
        value: &[u8],
        document: &Document,
    ) -> Result<Vec<u8>, ElementError> {
        let shown = value.escape_ascii();
        match name {
            "virtual" if value.contains(&b':') && !value.starts_with(b"/") => {
                Err(format!("expected a path of this server, not `{shown}`"))
            }
            "virtual" => {
                let (path, query) = match memchr::memchr(b'?', value) {
                    Some(at) => value.split_at(at),
                    None => (value, &[][..]),
                };
                // The attribute may already be percent-encoded.
                let path = percent::encode_path(&percent::decode_lenient(path));
                let path = if path.starts_with(b"/") {
                    path
                } else {
                    [folder_of(&document.path), &path].concat()
                };
                let strange = query.iter().any(|byte| *byte <= b' ' || *byte == 0x7f);
                match (resolved(&path), strange) {
                    (Some(path), false) => Ok([&path, query].concat()),
                    _ => Err(format!("expected a path of this server, not `{shown}`")),
                }
            }
            "file" => {
                let mut parts = value.split(|byte| *byte == b'/');
                if value.starts_with(b"/") || parts.any(|part| part == b"..") {
                    Err(format!(
                        "expected a file in this folder or below, not `{shown}`"
                    ))
                } else {
                    Ok([&document.folder, &percent::encode_path(value)[..]].concat())
                }
            }
            other => Err(format!("expected `virtual` or `file`, not `{other}`")),
        }
    }

    fn echo(
        &self,
        attributes: &Attributes,
        manner: &Manner,
        into: &mut Vec<u8>,
    ) -> Result<(), ElementError> {
        let mut encoding = "entity".to_string();
        for (name, value) in attributes {
            match name.as_str() {
                "encoding" => encoding = String::from_utf8_lossy(value).to_ascii_lowercase(),
                "var" => {
                    let name = self.put_in(value, manner)?;
                    match self.variables.borrow().value(&name, &manner.time) {
                        Some(value) => encode(&value, &encoding, into)?,
                        None => into.extend_from_slice(&manner.undefined),
                    }
                }
                "decoding" if value == b"none" => {}
                other => {
                    return Err(format!(
                        "expected `var` or `encoding` of an echo, not `{other}`"
                    ))
                }
            }
        }
        Ok(())
    }

    fn set(&self, attributes: &Attributes, manner: &Manner) -> Result<(), ElementError> {
        let mut variable = None;
        for (name, value) in attributes {
            match (name.as_str(), &variable) {
                ("var", _) => variable = Some(self.put_in(value, manner)?),
                ("value", Some(variable)) => {
                    let value = self.put_in(value, manner)?;
                    let set = self.variables.borrow_mut().set(variable, &value);
                    set.map_err(|too_long| too_long.to_string())?;
                }
                ("encoding" | "decoding", _) if value == b"none" => {}
                ("value", None) => return Err("expected `var` before `value` of a set".into()),
                (other, _) => {
                    return Err(format!(
                        "expected `var` and `value` of a set, not `{other}`"
                    ))
                }
            }
        }
        Ok(())
    }

    fn config(&self, attributes: &Attributes, manner: &mut Manner) -> Result<(), ElementError> {
        for (name, value) in attributes {
            let value = self.put_in(value, manner)?;
            match name.as_str() {
                "errmsg" => manner.error = value,
                "echomsg" => manner.undefined = value,
                "timefmt" => manner.time = String::from_utf8_lossy(&value).into_owned(),
                "sizefmt" => {
                    manner.short_sizes = match &value[..] {
                        b"bytes" => false,
                        b"abbrev" => true,
                        _ => return Err("expected bytes or abbrev of a sizefmt".into()),
                    }
                }
                other => {
                    return Err(format!(
                        "expected errmsg, echomsg, timefmt or sizefmt of a config, not `{other}`"
                    ))
                }
            }
        }
        Ok(())
    }

    async fn file(
        &self,
        attributes: &Attributes,
        document: &Document,
        manner: &Manner,
    ) -> Result<Vec<u8>, ElementError> {
        let Some((name, value)) = attributes.first() else {
            return Err("expected `virtual` or `file`".into());
        };
        let target = self.target(name, &self.put_in(value, manner)?, document)?;
        let shown = target.escape_ascii().to_string();
        let found = self.subrequests.file_of(self, target).await;
        found.map_err(|status| format!("{shown} answers {status}"))
    }

    /// Processes `exec`: `cgi` includes a program, which gets the page's query. Unlike Apache,
    /// Mehari does not support `cmd`.
    async fn exec(
        &self,
        attributes: &Attributes,
        document: &Document,
        manner: &Manner,
        into: &mut Vec<u8>,
    ) -> Result<(), ElementError> {
        if !document.settings.output.includes.may_exec {
            return Err("exec is not allowed here (Options IncludesNOEXEC)".into());
        }
        for (name, value) in attributes {
            match name.as_str() {
                "cgi" => {
                    let mut target =
                        self.target("virtual", &self.put_in(value, manner)?, document)?;
                    if !target.contains(&b'?') {
                        let query = self.base.request().query().to_vec();
                        if !query.is_empty() {
                            target.push(b'?');
                            target.extend_from_slice(&query);
                        }
                    }
                    self.fetch(target, into).await?;
                }
                "cmd" => return Err(
                    "exec cmd is not supported; expected exec cgi, or include virtual of a program"
                        .into(),
                ),
                other => return Err(format!("expected `cgi` of an exec, not `{other}`")),
            }
        }
        Ok(())
    }
}

/// Returns the part of a path up to and including the last slash.
pub(super) fn folder_of(path: &[u8]) -> &[u8] {
    let slash = memchr::memrchr(b'/', path).map_or(0, |at| at + 1);
    &path[..slash]
}

fn encode(value: &[u8], encoding: &str, into: &mut Vec<u8>) -> Result<(), ElementError> {
    match encoding {
        "none" => into.extend_from_slice(value),
        "url" => {
            for &byte in value {
                if percent::OF_PATHS.has(byte) {
                    into.push(byte)
                } else {
                    percent::push_lower(byte, into)
                }
            }
        }
        "urlencoded" => {
            for &byte in value {
                match byte {
                    b' ' => into.push(b'+'),
                    byte if byte.is_ascii_alphanumeric() || b".-*_".contains(&byte) => {
                        into.push(byte)
                    }
                    byte => percent::push_lower(byte, into),
                }
            }
        }
        "base64" => {
            let engine = base64::engine::general_purpose::STANDARD;
            into.extend(engine.encode(value).bytes());
        }
        "entity" => html::push(value, "'", into),
        other => {
            return Err(format!(
                "expected none, entity, url, urlencoded or base64, not `{other}`"
            ))
        }
    }
    Ok(())
}

/// Writes a size with commas: `1,234,567`.
fn grouped(size: u64) -> String {
    let digits = size.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a size in four characters, as Apache does: ` 12K`, `1.2M`.
fn short_size(size: u64) -> String {
    if size < 973 {
        return format!("{size:>3} ");
    }
    let mut left = size;
    for unit in "KMGTPE".chars() {
        let remainder = left & 1023;
        left >>= 10;
        if left >= 973 {
            continue;
        }
        if left < 9 || (left == 9 && remainder < 973) {
            let tenths = (remainder * 5 + 256) / 512;
            return if tenths >= 10 {
                format!("{}.0{unit}", left + 1)
            } else {
                format!("{left}.{tenths}{unit}")
            };
        }
        return format!("{:>3}{unit}", left + u64::from(remainder >= 512));
    }
    "****".to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_apache_writes_them() {
        for (size, short, long) in [
            (0, "  0 ", "0"),
            (972, "972 ", "972"),
            (1023, "1.0K", "1,023"),
            (1536, "1.5K", "1,536"),
            (10_240, " 10K", "10,240"),
            (1_234_567, "1.2M", "1,234,567"),
        ] {
            assert_eq!(short_size(size), short, "{size}");
            assert_eq!(grouped(size), long);
        }
    }
}
