#!/usr/bin/perl
print "Content-type: text/plain\n\n";
&first; print "then: "; $n = read(STDIN, $rest, 10); print "$n <$rest> ", getc(STDIN), " eof ", (eof(STDIN) ? 1 : 0), "\n";
local $/; $_ = <STDIN>; print "rest ", length, " <$_> eof ", (eof(STDIN) ? 1 : 0), " again ", (defined(<STDIN>) ? 'text' : 'nothing'), "\n";
sub first { local ($_) = scalar(<STDIN>); chop; print "first line <$_> line $.\n"; }
