# A pattern in a variable: as text, with /o, as qr, literal
# Answers: a question beside the documents: when perl compiles a pattern in a variable.
# Learn: perl compiles a pattern again only when its text changes: comparing the text is what /o
# and qr save.

# results: equal

use strict;
use warnings;

my @words = map { "word$_ and more" } 1 .. 30;
my ($text, $compiled) = ('word2\d', qr/word2\d/);

sub variable { scalar grep { /$text/ } @words }
sub once     { scalar grep { /$text/o } @words }
sub quoted   { scalar grep { $_ =~ $compiled } @words }
sub literal  { scalar grep { /word2\d/ } @words }
