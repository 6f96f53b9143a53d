//! Lists the programs of the talk about the move from CGI to mod_perl, and of the article about
//! Apache::ASP's performance.

use super::How::NotServed;
use super::{line, test, Line};

const COUNTERS: &str = "tests/guide/counters.rs";

#[rustfmt::skip]
pub const LINES: &[Line] = &[
    test("talk", "hello.pl under ab", "tests/guide/scripts.rs", "scripts_of_the_guide_answer_the_same_on_every_rung"),
    test("talk", "mod_perl switched on for a folder of CGI scripts", "tests/guide/start_up.rs", "folder_of_cgi_scripts_runs_under_perlrun"),
    test("talk", "a counter that nobody sets to zero", COUNTERS, "global_counter_survives_in_a_worker_under_registry_and_nowhere_else"),
    test("talk", "a counter that will not stay shared", COUNTERS, "counter_in_a_closure_goes_on_counting_under_registry_only"),
    test("talk", "a library loaded by its full path, and its own folder", "tests/modperl1.rs", "scripts_run_in_their_own_folder"),
    test("talk", "initialisation in a sub instead of in the file", COUNTERS, "library_is_initialised_by_its_file_once"),
    test("article", "MyBookmarks", "tests/programs/asp.rs", "bookmarks_are_kept_between_logging_in_and_logging_out"),
    line("article", "the ladder of configurations", NotServed("peers/ runs it, as one table")),
];
