//! Prints the directive table as documentation: docs/reference/directives.md and `mehari directives
//! --json`.

use serde_json::{json, Value};

use crate::{Directive, DirectivePlace, Group, Shape, DIRECTIVES, FOREIGN, REFUSED, SECTIONS};

/// Describes every directive with all its properties. A property that does not apply is null.
pub fn directives_json() -> Value {
    let mut all = Vec::new();
    for group in DIRECTIVES {
        for row in group.rows {
            all.push(directive_json(group.title, row));
        }
    }
    json!({ "directives": all, "sections": SECTIONS })
}

fn directive_json(group: &str, row: &Directive) -> Value {
    let said = |text: &str| match text {
        "" => Value::Null,
        text => text.into(),
    };
    let (kind, least, most) = match row.shape {
        Shape::Flag => ("flag", None, None),
        Shape::Number { least, most } => ("number", Some(least), Some(most)),
        Shape::Time { least, most } => ("time", Some(least), Some(most)),
        Shape::Choice(_) => ("choice", None, None),
        Shape::Path => ("path", None, None),
        Shape::Only { .. } => ("value", None, None),
        Shape::Words { .. } => ("words", None, None),
    };
    json!({
        "name": row.name,
        "aliases": row.aliases,
        "group": group,
        "place": row.place,
        "usage": row.usage(),
        "kind": kind,
        "least": least,
        "most": most,
        "default": said(row.default),
        "otherwise": said(row.otherwise),
        "unit": said(row.unit),
        "about": said(row.about),
        "tune": row.tune.map(|(least, most)| json!({ "least": least, "most": most })),
        "ignored": row.ignored,
        "example": said(row.example),
    })
}

/// Returns the page docs/reference/directives.md.
pub fn markdown() -> String {
    let mut page = String::from(
        "# Directives\n\nWritten by `mehari directives --markdown` from the directive table; a test holds it equal.\n\
         [configuration.md](configuration.md) says how files are read. Names may be written in any case.\n\
         \"Sections\" says whether a directive may also stand in `<VirtualHost>`, or in any section.\n\n\
         ## Sections\n\n| Section | Meaning |\n|---|---|\n",
    );
    for kind in SECTIONS {
        page.push_str(&row(&[&code(kind.usage), kind.about]));
    }
    for group in DIRECTIVES {
        page.push_str(&format!("\n## {}\n\n{}", group.title, opening(group)));
        for directive in group.rows {
            page.push_str(&match (directive.ignored, directive.shape) {
                (Some(reason), _) => {
                    let names: Vec<String> = directive.names().map(code).collect();
                    row(&[&names.join(", "), reason])
                }
                (None, Shape::Only { why, .. }) => row(&[&code(&directive.usage()), why]),
                (None, _) => described(directive),
            });
        }
    }
    page.push_str(
        "\n## Apache's, not done here\n\nA line with one of these directives is a problem, and the \
         message says why.\n\n| Module | Directives | Reason |\n|---|---|---|\n",
    );
    for refused in REFUSED {
        let names: Vec<String> = refused.directives.iter().map(|name| code(name)).collect();
        page.push_str(&row(&[
            &code(refused.module),
            &names.join(", "),
            refused.why,
        ]));
    }
    for foreign in FOREIGN {
        let names = code(&format!("{}...", foreign.prefix));
        page.push_str(&row(&[&code(foreign.module), &names, foreign.why]));
    }
    page
}

/// Returns what stands before the rows of a group: a sentence, and the head of the table.
fn opening(group: &Group) -> &'static str {
    let is_only = |row: &Directive| matches!(row.shape, Shape::Only { .. });
    if group.rows.iter().all(|row| row.ignored.is_some()) {
        "These directives are accepted anywhere with any arguments and have no effect.\n\n\
         | Directive | Reason |\n|---|---|\n"
    } else if group.rows.iter().all(is_only) {
        "These directives are accepted anywhere with the value shown, which says what Mehari \
         always does. A line with\nanother value is a problem, and the message says why.\n\n\
         | Directive | Reason |\n|---|---|\n"
    } else {
        "| Directive | Meaning | Default | Sections |\n|---|---|---|---|\n"
    }
}

fn described(directive: &Directive) -> String {
    let mut about = directive.about.to_string();
    if !directive.aliases.is_empty() {
        let names: Vec<String> = directive.aliases.iter().map(|name| code(name)).collect();
        about.push_str(&format!(" Also {}.", names.join(", ")));
    }
    if let Some((least, most)) = directive.tune {
        about.push_str(&format!(" A tuner may try {least} to {most}."));
    }
    let default = match (directive.default, directive.unit) {
        ("", _) => directive.otherwise.to_string(),
        (value, "") => code(value),
        (value, unit) => format!("{} {unit}", code(value)),
    };
    let sections = sections(directive);
    row(&[&code(&directive.usage()), &about, &default, &sections])
}

/// Returns the sections in which a directive may stand.
fn sections(directive: &Directive) -> String {
    let sections = match directive.place {
        DirectivePlace::Server | DirectivePlace::Shared => "",
        DirectivePlace::Host => "`<VirtualHost>`",
        DirectivePlace::Team => {
            "`<VirtualHost>` with `PerlOptions +Clone` or `+Parent`, `<PerlPool>`"
        }
        DirectivePlace::Perl => "`<VirtualHost>` with `PerlOptions +Parent`, `<PerlPool>`",
        DirectivePlace::Pool => "only `<PerlPool>`",
        DirectivePlace::Inside => "only `<VirtualHost>` and sections",
        DirectivePlace::Everywhere => "yes",
    };
    match (directive.in_pool, sections) {
        (false, sections) => sections.to_owned(),
        (true, "") => "`<PerlPool>`".to_owned(),
        (true, sections) => format!("{sections}, `<PerlPool>`"),
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}
