# Read a file whole or line by line
# Answers: the mod_perl guide, Performance Tuning, where it reads a whole file by `local $/ =
# undef`.
# Learn: line by line holds one line in memory. The whole file at once is faster where the lines
# do not matter.

# results: equal

use strict;
use warnings;

use File::Temp;
our $temporary = File::Temp->new;
print $temporary "line $_ of the file\n" for 1 .. 500;
close $temporary;
my $name = $temporary->filename;

sub _opened { open my $file, '<', $name or die "$name: $!"; $file }

sub line_by_line {
    my $file = _opened();
    my $size = 0;
    while (my $line = <$file>) { $size += length $line } $size;
}
sub whole        { my $file = _opened(); local $/; length <$file> }
sub list {
    my $file = _opened();
    my $size = 0;
    $size += length for my @lines = <$file>;
    $size;
}
