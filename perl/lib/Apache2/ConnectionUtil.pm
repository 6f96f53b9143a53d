package Apache2::ConnectionUtil;

# $c->pnotes and $c->pnotes_kill are methods of Apache2::Connection.

use strict;
use warnings;
use Apache2::Connection ();

1;
