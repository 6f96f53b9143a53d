# A callback: a new closure, a kept one, a named sub
# Answers: the mod_perl guide, Performance Tuning, where it gives a query a call-back closure.
# Learn: making a closure costs an allocation of its own variables. Calling it costs what any call
# costs.

# results: equal

use strict;
use warnings;

my @rows = 1 .. 20;
my $kept = sub { $_[0] * 2 };

sub _each   { my ($callback) = @_; my $sum = 0; $sum += $callback->($_) for @rows; $sum }
sub _double { $_[0] * 2 }

sub new_closure { my $factor = 2; _each(sub { $_[0] * $factor }) }
sub kept        { _each($kept) }
sub named       { _each(\&_double) }
sub inline      { my $sum = 0; $sum += $_ * 2 for @rows; $sum }
