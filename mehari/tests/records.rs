//! Tests `mehari bench merge` and `mehari bench export` with saved records.

#![allow(clippy::unwrap_used)]

mod support;

use mehari_record::Record;
use support::*;

fn measured(folder: &std::path::Path, name: &str, requests: &str) -> String {
    let url = format!("http://{}/", site());
    let path = folder.join(name).display().to_string();
    let output = run(&[
        "bench",
        "-n",
        requests,
        "--no-ceiling",
        "--output",
        &path,
        &url,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    path
}

#[test]
fn records_of_two_generators_are_merged_and_written_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let a = measured(folder.path(), "a.json", "30");
    let b = measured(folder.path(), "b.json", "12");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let both = path("both.json");
    let output = run(&[
        "bench",
        "merge",
        &a,
        &b,
        "-o",
        &both,
        "-o",
        &path("both.html"),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let record = Record::read(both.as_ref()).unwrap();
    assert_eq!((record.counts.completed, record.response.len()), (42, 42));
    assert_eq!(record.machines.len(), 2);
    let to_stdout = run(&["bench", "merge", &a, &b]);
    assert_eq!(stdout(&to_stdout), std::fs::read_to_string(&both).unwrap());

    let forms = ["x.csv", "x.dat", "x.hlog", "x.html", "x.json"].map(path);
    let mut arguments = vec!["bench", "export", &both];
    for form in &forms {
        arguments.extend(["-o", form]);
    }
    assert!(run(&arguments).status.success());
    for (form, begin) in forms
        .iter()
        .zip(["start,", "# ", "#[", "<!DOCTYPE html>", "{"])
    {
        assert!(
            std::fs::read_to_string(form).unwrap().starts_with(begin),
            "{form}"
        );
    }
}

#[test]
fn files_that_are_no_records_and_unknown_formats_are_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let a = measured(folder.path(), "a.json", "3");
    let future = folder.path().join("future.json").display().to_string();
    let text = std::fs::read_to_string(&a).unwrap();
    std::fs::write(
        &future,
        text.replacen(&format!("{:?}", mehari_record::VERSION), "\"9.0\"", 1),
    )
    .unwrap();
    for (arguments, why) in [
        (&["bench", "merge"][..], "required"),
        (&["bench", "merge", "gone.json"], "cannot read gone.json"),
        (
            &["bench", "merge", &a, &future],
            "version \"9.0\" is not understood",
        ),
        (
            &["bench", "export", &a, "-o", "x.pdf"],
            "expected json, csv, gnuplot",
        ),
        (&["bench", "export", &a], "required"),
    ] {
        assert_refused(arguments, why);
    }
}
