# Sort by a computed key
# Answers: a question beside Practical mod_perl, chapter 9, "Perl Code Benchmarking".
# Learn: a key that costs something is computed once for each element, not once for each
# comparison.

# results: equal

use strict;
use warnings;

my @lines = map { ($_ * 7919 % 101) . ' line' } 1 .. 60;

sub _key { my ($number) = $_[0] =~ /^(\d+)/; $number }

sub in_the_block { join ',', sort { _key($a) <=> _key($b) } @lines }
sub pairs {
    join ',', map { $_->[1] } sort { $a->[0] <=> $b->[0] } map { [_key($_), $_] } @lines;
}
sub hash {
    my %key = map { $_ => _key($_) } @lines;
    join ',', sort { $key{$a} <=> $key{$b} } @lines;
}
