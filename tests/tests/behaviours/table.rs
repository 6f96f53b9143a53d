//! docs/reference/modperl-behaviours.md: every row with its page and its state.

use crate::row::Row;
use std::fmt::Write;

pub fn of(rows: &[Row]) -> String {
    let same = rows.iter().filter(|row| row.differs.is_none()).count();
    let share = same * 1000 / rows.len().max(1);
    let mut text = format!(
        "# mod_perl's behaviours\n\n\
         Each row of the tables is a behaviour that mod_perl documents. The state of a row says whether\n\
         Mehari behaves as mod_perl does:\n\n\
         * \"same\": Mehari and mod_perl give the same result.\n\
         * \"differs\": the results differ. The reason follows. \"Mehari does more\" means that something\n  \
         works in Mehari, but not in mod_perl. \"Mehari does not do this\" means that something works in\n  \
         mod_perl, but not in Mehari.\n\n\
         A heading is a module or page of mod_perl's documentation. If a row has only names, the test calls\n\
         these methods or functions and compares what they return or do. `$r` is the request, `$c` the\n\
         connection, `$s` the server, `$f` a filter, `$bb` a brigade, and `$subr` a sub-request.\n\n\
         {same} of {} rows are the same ({}.{} %).\n\n\
         `cargo test -p mehari-tests --test behaviours` runs every row on Mehari and on Apache with\n\
         mod_perl. The test compares status, fields and body, and the error log where a row asks for it.\n\
         The rows are in `tests/behaviours`, in one file for each page of mod_perl's documentation.\n",
        rows.len(),
        share / 10,
        share % 10
    );
    let mut page = "";
    for row in rows {
        if row.page != page {
            page = &row.page;
            let _ = write!(text, "\n## {page}\n\n| behaviour | state |\n|---|---|\n");
        }
        let state = match &row.differs {
            Some(reason) => format!("differs: {reason}"),
            None => "same".to_owned(),
        };
        let _ = writeln!(text, "| {} | {} |", cell(&row.title), cell(&state));
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
