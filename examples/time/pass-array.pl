# Pass a long array: as a list, as a reference, unpacked again
# Answers: the mod_perl guide, Performance Tuning, where it passes variables by value and by
# reference (arrays).
# Learn: the elements of a list are pushed one by one, and the copy is made one by one.

# results: equal

use strict;
use warnings;

my @rows = 1 .. 1000;

sub _from_list      { my @own = @_; return $own[-1] }
sub _from_reference { my ($own) = @_; return $own->[-1] }
sub _from_copy      { my @own = @{ $_[0] }; return $own[-1] }

sub list      { _from_list(@rows) }
sub reference { my $last; $last = _from_reference(\@rows) for 1 .. 5; $last }
sub copy      { _from_copy(\@rows) }
