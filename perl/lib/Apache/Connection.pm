package Apache::Connection;

# mod_perl 1's name for Apache2::Connection: the client's connection.

use strict;
use warnings;
use Apache ();
use Apache2::Connection ();

our @ISA = ('Apache2::Connection');

1;
