# Waits 200 calls deep, below every kind of frame.
use strict; use warnings; use utf8; no warnings "recursion";
use Sub::Util qw(set_subname);
my $first = 1;
sub wait_here { if ($first) { $first = 0; print "ready\n" } select undef, undef, undef, 3600 }
sub größe { wait_here() }
my $hostile = set_subname('<img src=x onerror="alert(1)">', sub { größe() });
my $nameless = sub { $hostile->() };
sub compared { $nameless->(); 0 }
sub deep { my $left = shift; $left ? deep($left - 1) : eval q{ my @sorted = sort { compared() } 2, 1; 1 } }
$| = 1;
local $SIG{TERM} = sub { exit 0 };
deep(200);
