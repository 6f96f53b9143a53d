# `$| = 1` with many prints and with one
# Answers: the mod_perl guide, Performance Tuning, where it disables the buffering with `local
# $|=1`.
# Learn: with `$|` each print is a system call. One print of the whole page costs the same with
# and without.

# results: equal

use strict;
use warnings;

my @lines = ('<body>', '<h1>', 'Hello', '</h1>', '<a href="foo.html">foo</a>', '</body>');

sub many_buffered   { local $| = 0; print $_, "\n" for @lines; return }
sub many_unbuffered { local $| = 1; print $_, "\n" for @lines; return }
sub one_buffered    { local $| = 0; print map { "$_\n" } @lines; return }
sub one_unbuffered  { local $| = 1; print join('', map { "$_\n" } @lines); return }
