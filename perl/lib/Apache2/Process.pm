package Apache2::Process;

# The process of the server.

use strict;
use warnings;
use APR::Pool ();

my $pool;

sub new { return bless {}, shift }

sub pool       { return $pool ||= APR::Pool->of_server }
sub pconf      { return $pool ||= APR::Pool->of_server }
sub short_name { return 'mehari' }

1;
