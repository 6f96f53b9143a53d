# Fill a hash: one by one, by a slice, from a list
# Answers: a question beside the mod_perl guide's fetching of rows (hashes).
# Learn: a slice stores all values in one operation.

# results: equal

use strict;
use warnings;

my @names = 'a' .. 'z';

sub one_by_one {
    my %place;
    my $at = 0;
    $place{$_} = $at++ for @names;
    join ',', map { $place{$_} } @names;
}
sub slice      { my %place; @place{@names} = 0 .. $#names; join ',', @place{@names} }
sub list {
    my $at = 0;
    my %place = map { ($_ => $at++) } @names;
    join ',', map { $place{$_} } @names;
}
