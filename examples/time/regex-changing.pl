# A pattern that changes between calls: as text, or each compiled once
# Answers: a question beside the documents: patterns that change.
# Learn: a variable with a new pattern is compiled again for each change; a list of qr is compiled
# once.

# results: equal

use strict;
use warnings;

my @texts = map { "word$_\\b" } 1 .. 10;
my @compiled = map { qr/$_/ } @texts;

sub texts {
    my $found = 0;
    for my $text (@texts) { $found++ if 'some word7 here' =~ /$text/ } $found;
}
sub patterns {
    my $found = 0;
    for my $one (@compiled) { $found++ if 'some word7 here' =~ $one } $found;
}
sub joined {
    our $all ||= join '|', @texts;
    my $found = () = 'some word7 here' =~ /$all/g;
    $found;
}
