# Code in a string: compiled for each call, compiled once, a table of subs
# Answers: a question beside the mod_perl guide's Apache::Registry, which compiles a script once.
# Learn: a string eval runs the compiler. Compile once and call, or choose from a table.

# results: equal

use strict;
use warnings;

my %table = (add => sub { $_[0] + $_[1] }, times => sub { $_[0] * $_[1] });
my $compiled = eval 'sub { $_[0] * $_[1] }' or die $@;

sub each_time { my ($x, $y) = (6, 7); eval '$x * $y' }
sub once      { $compiled->(6, 7) }
sub table     { $table{times}->(6, 7) }
sub block     { my ($x, $y) = (6, 7); eval { $x * $y } }
