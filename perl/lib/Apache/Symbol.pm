package Apache::Symbol;

use strict;
use warnings;
use ModPerl::Util ();

# undef_functions($package)
sub undef_functions { my ($class, $package) = @_; ModPerl::Util::unload_package($package); return }

1;
