//! Writes the site of some rows: a location, a package or a script for each row.

use crate::row::{PerlKind, Row};
use mehari_harness::{Builder, Server};
use std::fmt::Write;

/// One worker: the next request of a row sees the effects of the previous one.
const HEAD: &str = "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nServerLimit 1\n\
MaxRequestWorkers 1\nServerAdmin webmaster@example.org\nPerlSwitches -I@ROOT@/lib\n\
LogLevel debug\n\
<Directory @ROOT@>\nAllowOverride All\nRequire all granted\n</Directory>\n\
Alias /scripts/ @ROOT@/scripts/\n";

pub fn builder(rows: &[&Row], back_end: u16) -> Builder {
    let mut conf = HEAD.to_owned();
    let mut builder = Server::builder().copied(crate::folder().join("lib"), "lib");
    for row in rows {
        if row.kind == PerlKind::Module && !row.body.trim().is_empty() && !row.lazy {
            conf += &format!("PerlModule {}\n", row.package());
        }
        conf += &row.filled(&row.server);
        let handler = match row.kind {
            _ if row.conf.contains("SetHandler") => String::new(),
            PerlKind::Script => String::new(),
            _ => "SetHandler modperl\n".to_owned(),
        };
        let response = match row.kind {
            _ if row.conf.contains("PerlResponseHandler") => String::new(),
            PerlKind::Script => String::new(),
            _ if row.body.trim().is_empty() => String::new(),
            _ if row.conf.contains("SetHandler")
                && !row.conf.contains("SetHandler perl-script") =>
            {
                String::new()
            }
            _ => format!("PerlResponseHandler {}\n", row.package()),
        };
        let lines = row.filled(&row.conf);
        let _ = write!(
            conf,
            "<Location {}>\n{handler}{response}{lines}</Location>\n",
            row.location()
        );
        builder = with_files(builder, row, back_end);
    }
    // Rows write to every level of the log.
    builder
        .expect_alert("row-")
        .conf(&conf.replace("BACKEND", &back_end.to_string()))
}

fn with_files(mut builder: Builder, row: &Row, back_end: u16) -> Builder {
    let fill = |text: &str, builder: &Builder| {
        row.filled(text)
            .replace(
                "@ROOT@",
                builder
                    .folder_of("")
                    .to_string_lossy()
                    .trim_end_matches('/'),
            )
            .replace("BACKEND", &back_end.to_string())
    };
    for (name, text) in &row.files {
        let (name, text) = (fill(name, &builder), fill(text, &builder));
        let name = name.trim_start_matches('/').to_owned();
        builder = builder.file(&name, &text);
    }
    let body = fill(&row.body, &builder);
    let package = row.package();
    match row.kind {
        PerlKind::Script => builder.file(
            &format!("{}/x.pl", row.location().trim_start_matches('/')),
            &body,
        ),
        _ if body.trim().is_empty() => builder,
        PerlKind::Module => builder.file(
            &path(&package),
            &format!("package {package};\nuse Behaviour;\n{body}\n1;\n"),
        ),
        PerlKind::List => builder.file(
            &path(&package),
            &format!(
                "package {package};\nuse Behaviour;\nsub handler {{\nmy $r = shift;\n\
                 Behaviour::answer($r, sub {{\n{body}}});\n}}\n1;\n"
            ),
        ),
    }
}

fn path(package: &str) -> String {
    format!("lib/{}.pm", package.replace("::", "/"))
}
