//! Writes the command that shows the gain of a change.

use super::examination::Examination;
use super::visits::{authority_of, target_of};
use std::path::Path;

/// Returns a comparison of the configuration with itself and further lines, each served for the
/// comparison. Where the server has no configuration file, the gain is shown by two records.
pub fn of_lines(examination: &Examination, lines: &[&str], url: &str) -> String {
    of_lines_with(examination, lines, url, "")
}

/// As [`of_lines`], with further options for `mehari compare`.
pub fn of_lines_with(
    examination: &Examination,
    lines: &[&str],
    url: &str,
    options: &str,
) -> String {
    let Some(before) = serve(examination, "mehari", &[]) else {
        return of_records(examination, url);
    };
    let after = serve(examination, "mehari", lines).unwrap_or_default();
    let host = host_option(url);
    let options = match options {
        "" => String::new(),
        options => format!(" {options}"),
    };
    format!(
        "mehari compare {} {} --url {}{host}{options}",
        quoted(&before),
        quoted(&after),
        quoted(target_of(url))
    )
}

/// Returns the commands for a change of code, of the kernel or of the start.
pub fn of_records(examination: &Examination, url: &str) -> String {
    let url = if url.contains("://") {
        url.to_owned()
    } else {
        format!("{}{url}", base(examination))
    };
    let url = quoted(&url);
    format!(
        "mehari bench -c 4 -d 5s -o before.json {url}; change the line, reload; \
         mehari bench -c 4 -d 5s -o after.json {url}; mehari compare before.json after.json"
    )
}

/// Returns a command that serves the configuration with further lines on a free port. `None`:
/// there is no configuration file.
pub fn serve(examination: &Examination, program: &str, lines: &[&str]) -> Option<String> {
    let configuration = &examination.configuration;
    let conf = configuration.conf.as_ref()?;
    let mut command = format!("{program} serve -f {}", quoted(&shown(conf)));
    for define in &configuration.define {
        command += &format!(" -D {}", quoted(define));
    }
    // The file of the running server must stay.
    let pid_file = configuration.site.process.pid_file.as_ref();
    let pid_file = pid_file.map(|_| "PidFile /dev/null");
    let own = configuration.line.iter().map(String::as_str);
    for line in own.chain(pid_file).chain(lines.iter().copied()) {
        command += &format!(" -c {}", quoted(line));
    }
    Some(command + " --listen 127.0.0.1:0")
}

/// Paths are written relative to this folder, as the user would write them.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let shown = path.strip_prefix(&here).unwrap_or(path);
    shown.display().to_string()
}

/// Returns the Host field for a server of its own, where the URL's host is a name.
fn host_option(url: &str) -> String {
    let authority = authority_of(url);
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, _)| host);
    let is_name = url.contains("://")
        && host != "localhost"
        && host
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_err();
    if is_name {
        format!(" -H {}", quoted(&format!("Host: {authority}")))
    } else {
        String::new()
    }
}

/// Returns the address of the server: of the first `Listen`.
fn base(examination: &Examination) -> String {
    let listen = examination.configuration.site.listen.first();
    let address = listen.map_or("127.0.0.1:8080", |listen| listen.address.as_str());
    let address = address
        .replace("*:", "127.0.0.1:")
        .replace("0.0.0.0:", "127.0.0.1:");
    format!("http://{address}")
}

/// Quotes a word for a shell where it needs quotes.
pub fn quoted(word: &str) -> String {
    let is_plain = |mark: char| mark.is_ascii_alphanumeric() || "/.:_-=,%+@".contains(mark);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains('\'') {
        return format!("'{word}'");
    }
    if !word.contains(['"', '$', '`', '\\', '!']) {
        return format!("\"{word}\"");
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn shell_reads_the_same_word_again() {
        for word in [
            "plain/word.conf",
            "",
            "PerlModule Data::Dumper",
            "a 'quoted' word",
            "it's \"$HOME\" `id` \\ !",
            "serve -c 'a b'",
        ] {
            let output = std::process::Command::new("/bin/sh")
                .arg("-c")
                .arg(format!("printf %s {}", quoted(word)))
                .output()
                .expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }
}
