# Ask for a file's state once or three times
# Answers: the mod_perl guide, Performance Tuning, where it saves stat() calls by `_`.
# Learn: `_` is the state that perl has read last: each further question without `_` is a system
# call.

# results: equal

use strict;
use warnings;

my $file = $^X;

sub three_calls { my @found = (-e $file, -r $file, -M $file); return $found[2] > 0 }
sub one_call    { my @found = (-e $file, -r _, -M _); return $found[2] > 0 }
