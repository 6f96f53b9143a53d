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

The server's zygote loads this module before it compiles anything else. C<Mehari::zygote> never
returns: it loads the site's modules and forks the workers.

=cut
