//! Makes the manual page mehari.conf(5) from the directive table.

use clap_mangen::roff::{bold, italic, roman, Inline, Roff};
use mehari_config::{Directive, DIRECTIVES, FOREIGN, REFUSED, SECTIONS};

use super::title;

/// Returns the page, in roff.
pub fn page() -> Vec<u8> {
    let mut roff = Roff::new();
    roff.control("SH", ["NAME"])
        .text([roman("mehari.conf - the configuration of Mehari")])
        .control("SH", ["DESCRIPTION"]);
    paragraph(
        &mut roff,
        "The configuration has the language of Apache's httpd.conf: sections, and one directive \
         per line. Upper and lower case are equal in names. `mehari check -f FILE` prints what a \
         configuration means. `mehari serve -f FILE` serves it.",
    );
    roff.control("PP", []);
    paragraph(
        &mut roff,
        "Some words on this page are Mehari's own. The front is the process that owns all \
         connections. A worker is a Perl process that serves one request at a time. The zygote is \
         the process that loads the site's modules and then forks the workers. A rung is the way \
         in which a script runs, such as `cgi`, `fork` or `registry`. A deferred call is Perl code \
         that runs after the response.",
    );
    example(&mut roff);
    roff.control("SH", ["SECTIONS"]);
    for kind in SECTIONS {
        entry(&mut roff, kind.usage, kind.about);
    }
    roff.control("SH", ["DIRECTIVES"]);
    for group in DIRECTIVES {
        roff.control("SS", [group.title]);
        if group.rows.iter().all(|row| row.ignored.is_some()) {
            paragraph(
                &mut roff,
                "These directives are accepted anywhere with any arguments. They have no effect.",
            );
        }
        group.rows.iter().for_each(|row| directive(&mut roff, row));
    }
    refused(&mut roff);
    roff.control("SH", ["SEE ALSO"])
        .text([bold("mehari"), roman("(1), ")])
        .text([bold("mehari-check"), roman("(1), ")])
        .text([bold("mehari-directives"), roman("(1)")]);
    (title("mehari.conf", 5) + &roff.to_roff()).into_bytes()
}

fn example(roff: &mut Roff) {
    roff.control("SH", ["EXAMPLE"]).control("nf", []);
    for line in [
        "Listen       80",
        "DocumentRoot /srv/www",
        "ErrorLog     /var/log/mehari/error.log",
        "CustomLog    /var/log/mehari/access.log combined",
        "Alias /perl/ /srv/www/perl/",
        "<Location /perl>",
        "    SetHandler          perl-script",
        "    PerlResponseHandler ModPerl::Registry",
        "    PerlSendHeader      On",
        "    Options             +ExecCGI",
        "</Location>",
    ] {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

fn directive(roff: &mut Roff, row: &Directive) {
    if let Some(reason) = row.ignored {
        let names: Vec<&str> = row.names().collect();
        return entry(roff, &names.join(", "), reason);
    }
    entry(roff, &row.usage(), row.about);
    let default = match (row.default, row.unit) {
        ("", _) => row.otherwise.to_owned(),
        (value, unit) => format!("{value} {unit}"),
    };
    for (label, text) in [
        ("Also: ", row.aliases.join(", ")),
        ("Default: ", default),
        ("Place: ", row.describe_place()),
    ] {
        if !text.trim().is_empty() {
            roff.control("br", []);
            let mut line = vec![italic(label)];
            line.extend(inlines(text.trim()));
            roff.text(line);
        }
    }
}

fn refused(roff: &mut Roff) {
    roff.control("SH", ["DIRECTIVES OF APACHE THAT ARE REFUSED"]);
    for refused in REFUSED {
        let why = format!("{}: {}", refused.module, refused.why);
        entry(roff, &refused.directives.join(", "), &why);
    }
    for foreign in FOREIGN {
        let why = format!("{}: {}", foreign.module, foreign.why);
        entry(roff, &format!("{}...", foreign.prefix), &why);
    }
}

fn entry(roff: &mut Roff, head: &str, text: &str) {
    roff.control("TP", []).text([bold(head)]);
    paragraph(roff, text);
}

fn paragraph(roff: &mut Roff, text: &str) {
    roff.text(inlines(text));
}

/// Returns the text in pieces. The words between backticks are bold.
fn inlines(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate();
    parts
        .map(|(at, part)| if at % 2 == 0 { roman(part) } else { bold(part) })
        .collect()
}
