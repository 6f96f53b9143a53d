package Apache::Status;

# mod_perl 1's name for Apache2::Status: the status pages.

use strict;
use warnings;
use Apache2::Status ();

our @ISA = ('Apache2::Status');

sub handler { return Apache2::Status::handler(@_) }

# menu_item(name => title, code)
sub menu_item { return Apache2::Status->menu_item(@_[1 .. $#_]) }

1;
