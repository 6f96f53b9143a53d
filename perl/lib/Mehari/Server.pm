package Mehari::Server;

# What Perl may ask of the server as a whole. `%fact` is what the front told the zygote.

use strict;
use warnings;

our %fact;

# The folder of `ServerRoot`, without a slash at its end.
sub root { my $root = $fact{server_root} // '/'; $root =~ s{(?<=.)/+\z}{}; return $root }

1;
