# Pass a large text: by value, by reference, by alias
# Answers: the mod_perl guide, Performance Tuning, where it passes variables by value, by reference
# and by @_.
# Learn: `my ($text) = @_` copies. A reference and `$_[0]` do not.

# results: equal

use strict;
use warnings;

my $content = 'foobar' x 20_000;

sub _by_value     { my ($text) = @_; return length $text }
sub _by_reference { my ($text) = @_; return length $$text }
sub _by_alias     { return length $_[0] }

sub value     { my $sum = 0; $sum += _by_value($content) for 1 .. 5; $sum }
sub reference { my $sum = 0; $sum += _by_reference(\$content) for 1 .. 5; $sum }
sub alias     { my $sum = 0; $sum += _by_alias($content) for 1 .. 5; $sum }
