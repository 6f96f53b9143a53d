package APR::OS;

use strict;
use warnings;

# A worker has one thread.
sub current_thread_id { return 0 }

1;
