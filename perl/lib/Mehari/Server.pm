package Mehari::Server;

# Holds facts about the whole server in `%fact`. The front sends them to the zygote.

use strict;
use warnings;

our %fact;

# Returns the folder of `ServerRoot`, without a final slash.
sub root { my $root = $fact{server_root} // '/'; $root =~ s{(?<=.)/+\z}{}; return $root }

1;

__END__

=head1 NAME

Mehari::Server - internal

=head1 DESCRIPTION

This module is internal to the server: it holds facts about the whole server.

=cut
