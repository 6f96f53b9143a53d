//! Lists the programs of Practical mod_perl, chapter 9.

use super::How::{NotServed, StopsTheStart};
use super::Says::{Exactly, InOrder};
use super::{calls_api, line, runs, script, test, Line, World};

const PROFILERS: &str = "tests/guide/profilers.rs";
const TABLE: &str = "<table>\n<tr><td>a</td> <td>b</td> <td>c</td> <td>d</td></tr>\n \
                     <tr><td>e</td> <td>f</td> <td>g</td> <td>h</td></tr>\n</table>\n";

#[rustfmt::skip]
pub const LINES: &[Line] = &[
    calls_api("9-1", "simple_test.pl", "simple_test.pl", Exactly("Hello\n")),
    runs("9-2", "simple_test_mod_cgi.pl", "simple_test_mod_cgi.pl", Exactly("Hello\n")),
    line("line 40", "ab, httperf and http_load", NotServed("clients: bench/compat has them")),
    runs("9-3", "strings_benchmark.pl", "strings_benchmark.pl", InOrder(&["array:", "concat:", "ref_array:"])),
    runs("9-4", "hires_benchmark_time.pl", "hires_benchmark_time.pl", InOrder(&[
        "decrement: Doing  10 *  10 =   100 took time\n", "obvious: Doing  10 *  10 =   100 took time\n",
        "obvious: Doing 100 * 100 = 10000 took time\n",
    ])),
    runs("9-5", "hires_benchmark.pl", "hires_benchmark.pl", InOrder(&[
        "Testing 10*10", "decrement:", "obvious:", "Testing 100*10", "decrement:", "obvious:",
    ])),
    script("line 514", "size and shared size of a process", "gtop.pl", World::Api, InOrder(&[" size => ", "vsize => ", "share => ", "  rss => "]), super::guide::NO_LIBGTOP),
    runs("line 547", "memory by BSD::Resource", "rusage.pl", InOrder(&["used memory = "])),
    test("line 563", "perl-status and its options", "tests/guide/status_pages.rs", "status_pages_show_what_a_worker_has_compiled"),
    test("9-6", "Book::DumpEnv and its location", "tests/modperl1.rs", "handlers_of_the_books_answer"),
    runs("9-7", "bench_diagnostics.pl", "bench_diagnostics.pl", InOrder(&["Off: ", "On : "])),
    runs("9-8", "diagnostics.pl", "diagnostics.pl", Exactly("")),
    test("line 878", "Apache::DProf behind IfDefine", PROFILERS, "profilers_that_are_not_asked_for_are_not_loaded"),
    line("line 890", "the same, asked for", StopsTheStart(
        "Define PERLDPROF\n<Location /perl>\nSetHandler perl-script\n<IfDefine PERLDPROF>\nPerlModule Apache::DProf\n</IfDefine>\n</Location>\n",
        "PerlModule cannot stand in <Location>",
    )),
    runs("9-9", "table_gen.pl", "table_gen.pl", Exactly(TABLE)),
    runs("9-10", "table_gen2.pl", "table_gen2.pl", Exactly(TABLE)),
    test("line 1033", "Apache::SmallProf behind IfDefine", PROFILERS, "profilers_that_are_not_asked_for_are_not_loaded"),
];
