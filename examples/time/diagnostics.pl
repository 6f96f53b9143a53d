# `use diagnostics` where warnings come, and where none come
# Answers: Practical mod_perl, chapter 9, "Profiling with Devel::DProf"; the mod_perl guide,
# Performance Tuning, where it profiles the same module.
# Learn: diagnostics costs nothing until a warning comes, then a lot: it explains each of them.

# Seconds of processor time for all calls of the document.
# published: warns_on 12.55
# published: warns_off 0.81
# published: silent_on 0.56
# published: silent_off 0.57
# results: differ, as 'foo' equals 'bar' as a number

use strict;
use warnings;

use diagnostics;
disable diagnostics;
my $is_on;

# Each sub has a process of its own, so the first call decides for all.
sub _on      { $is_on ||= do { enable diagnostics; 1 } }
sub _off     { $is_on ||= 1 }
sub _numbers { my ($one, $two) = qw(foo bar); return $one == $two ? 1 : 0 }
sub _strings { my ($one, $two) = qw(foo bar); return $one eq $two ? 1 : 0 }

sub warns_on   { _on();  _numbers() }
sub warns_off  { _off(); _numbers() }
sub silent_on  { _on();  _strings() }
sub silent_off { _off(); _strings() }
