package Mehari;

use strict;
use warnings;

our $VERSION = '0.001000';

require XSLoader;
XSLoader::load('Mehari', $VERSION);

1;

__END__

=head1 NAME

Mehari - the Perl side of the Mehari application server

=head1 DESCRIPTION

Loaded by the server's zygote before anything else is compiled. C<Mehari::zygote> never returns: it
loads what the site preloads and forks the workers.

=cut
