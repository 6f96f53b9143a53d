//! Makes the manual page of one command from the command's clap grammar.

use clap::Command;
use clap_mangen::roff::{bold, roman, Roff};
use clap_mangen::Man;

use super::title;
use crate::cli::httpd;

/// Returns the page, in roff.
pub fn page(command: &Command) -> Vec<u8> {
    let is_root = command.has_subcommands() && command.get_version().is_some();
    let man = Man::new(command.clone());
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let mut text = title(name, 1).into_bytes();
    let mut render = |part: fn(&Man, &mut dyn std::io::Write) -> std::io::Result<()>| {
        part(&man, &mut text).expect("memory takes every write")
    };
    render(Man::render_name_section);
    render(Man::render_synopsis_section);
    render(Man::render_description_section);
    if !is_described_by_its_own_text(command) {
        render(Man::render_options_section);
    }
    if command.has_subcommands() {
        render(Man::render_subcommands_section);
    }
    let mut roff = Roff::new();
    if is_root {
        about_the_program(&mut roff);
    }
    let closing = command.get_after_help().map(ToString::to_string);
    let closing = closing.unwrap_or_default();
    if is_described_by_its_own_text(command) {
        roff.control("SH", ["OPTIONS"]);
        verbatim(&mut roff, closing.trim_end().lines());
    } else {
        close(&mut roff, &closing);
    }
    see_also(&mut roff, is_root);
    text.extend_from_slice(roff.to_roff().as_bytes());
    without_gaps(&String::from_utf8(text).expect("roff is text"))
}

/// Removes the space that clap_mangen puts behind an option without a long name: `[-f ]`.
fn without_gaps(page: &str) -> Vec<u8> {
    page.replace(" \\fR]", "\\fR]").into_bytes()
}

/// Returns whether the command parses its arguments itself and only its help text describes them.
fn is_described_by_its_own_text(command: &Command) -> bool {
    let mut own = command
        .get_arguments()
        .filter(|argument| argument.get_id() != "help" && argument.get_id() != "version");
    own.next().is_none() && !command.has_subcommands()
}

fn about_the_program(roff: &mut Roff) {
    roff.control("SH", ["OPTIONS OF HTTPD"])
        .text([roman(
            "Without a command the program takes httpd's options, for init scripts and tools that \
             drive an httpd.",
        )])
        .control("PP", []);
    verbatim(roff, httpd::USAGE.lines());
    roff.control("SH", ["FILES"])
        .control("TP", [])
        .text([bold("/etc/mehari/mehari.conf")])
        .text([roman(
            "The configuration of the system's service, in the language of mehari.conf(5).",
        )]);
}

/// Adds the text after the options. Examples, the exit status and notes get sections of their own.
/// Indented lines keep their line breaks.
fn close(roff: &mut Roff, text: &str) {
    let mut section = "";
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (heading, rest) = match line.split_once(':') {
            Some(("Example" | "Examples", rest)) => ("EXAMPLES", rest.trim()),
            Some(("Exit status", rest)) => ("EXIT STATUS", rest.trim()),
            _ if section.is_empty() || (section == "EXAMPLES" && !is_indented(line)) => {
                ("NOTES", line)
            }
            _ => (section, line),
        };
        if rest.is_empty() && heading != "EXAMPLES" {
            continue;
        }
        if heading != section {
            roff.control("SH", [heading]);
        }
        if rest.is_empty() {
            // The line holds only a heading. The next lines belong to the heading.
        } else if is_indented(rest) {
            let mut block = vec![rest];
            while let Some(line) = lines.next_if(|line| is_indented(line)) {
                block.push(line);
            }
            verbatim(roff, block.into_iter());
        } else if heading != section {
            roff.text([roman(sentence(rest))]);
        } else {
            roff.text([roman(rest)]);
        }
        section = heading;
    }
}

fn is_indented(line: &str) -> bool {
    line.starts_with(' ')
}

fn verbatim<'a>(roff: &mut Roff, lines: impl Iterator<Item = &'a str>) {
    roff.control("nf", []);
    for line in lines {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

fn see_also(roff: &mut Roff, is_root: bool) {
    roff.control("SH", ["SEE ALSO"]);
    if !is_root {
        roff.text([bold("mehari"), roman("(1), ")]);
    }
    roff.text([bold("mehari.conf"), roman("(5)")]);
}

/// Returns the text with a capital letter at its start.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
