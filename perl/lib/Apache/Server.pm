package Apache::Server;

# mod_perl 1's server: `Apache->server`, `$r->server`.

use strict;
use warnings;
use Apache ();
use Apache2::ServerRec  ();
use Apache2::ServerUtil ();

our @ISA = ('Apache2::ServerRec');

# The folder in which the server was started; true while it starts.
our $CWD        = Apache2::ServerUtil::server_root();
our $Starting   = 0;
our $ReStarting = 0;

sub uid { return Apache2::ServerUtil->user_id }
sub gid { return Apache2::ServerUtil->group_id }

1;
