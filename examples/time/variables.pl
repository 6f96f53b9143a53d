# Lexical and global variables
# Answers: a question beside the mod_perl guide's advice to avoid global variables.
# Learn: a lexical variable has a place in the sub, a global one is looked up behind its name's
# entry.

# results: equal

use strict;
use warnings;

our $declared = 0;

sub lexical   { my $sum = 0; $sum += $_ for 1 .. 50; $sum }
sub our_one   { $declared = 0; $declared += $_ for 1 .. 50; $declared }
sub qualified { $main::other = 0; $main::other += $_ for 1 .. 50; $main::other }
sub localized { local $declared = 0; $declared += $_ for 1 .. 50; $declared }
