package Apache::SizeLimit;

# mod_perl 1's name for Apache2::SizeLimit, with its variables.

use strict;
use warnings;
use Apache2::SizeLimit ();

our @ISA = ('Apache2::SizeLimit');
our ($MAX_PROCESS_SIZE, $MIN_SHARE_SIZE, $MAX_UNSHARED_SIZE, $CHECK_EVERY_N_REQUESTS);

*Apache2::SizeLimit::MAX_PROCESS_SIZE       = \$MAX_PROCESS_SIZE;
*Apache2::SizeLimit::MIN_SHARE_SIZE         = \$MIN_SHARE_SIZE;
*Apache2::SizeLimit::MAX_UNSHARED_SIZE      = \$MAX_UNSHARED_SIZE;
*Apache2::SizeLimit::CHECK_EVERY_N_REQUESTS = \$CHECK_EVERY_N_REQUESTS;

sub handler { return Apache2::SizeLimit::handler(@_) }

1;
