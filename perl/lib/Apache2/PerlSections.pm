package Apache2::PerlSections;

# `<Perl>` sections. Mehari::Configuration runs them; this is what their code may ask.

use strict;
use warnings;

# The server that is being configured.
sub server { require Apache2::ServerUtil; return Apache2::ServerUtil->server }

1;
