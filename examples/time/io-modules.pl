# IO::File's methods against perl's own functions
# Answers: the mod_perl guide, Performance Tuning, where it counts what the IO:: modules cost.
# Learn: an object's method ends in the same function. `mehari memory --module IO` shows what
# loading costs.

# results: equal

use strict;
use warnings;

use IO::File ();

sub object {
    my $file = IO::File->new($^X, 'r') or die $!;
    $file->binmode;
    $file->read(my $bytes, 100);
    $file->close;
    $bytes;
}
sub function {
    open my $file, '<', $^X or die $!;
    binmode $file;
    read $file, my $bytes, 100;
    close $file;
    $bytes;
}
