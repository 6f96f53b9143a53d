# Collect long strings before they are printed: as one string, a list, or references
# Answers: Practical mod_perl, chapter 9, "Perl Code Benchmarking".
# Learn: an array copies each string. References copy nothing, one string grows in place.

# Seconds of processor time for all calls of the document.
# published: array 2.87
# published: concatenation 2.02
# published: references 2.24
# results: equal

use strict;
use warnings;

my ($head, $body, $foot) = map { $_ x 4096 } 'a' .. 'c';

sub _print { print ref $_ ? $$_ : $_ for @_; return }

sub array         { my @parts; push @parts, $head, $body, $foot; _print(@parts) }
sub references    { my @parts; push @parts, \($head, $body, $foot); _print(@parts) }
sub concatenation { my $all = ''; $all .= $head; $all .= $body; $all .= $foot; _print($all) }
