package APR::SockAddr;

# An address of a connection: its IP and its port.

use strict;
use warnings;

sub new { my ($class, $ip, $port) = @_; return bless { ip => $ip, port => $port }, $class }

sub ip_get { return $_[0]{ip} }
sub port   { return $_[0]{port} }
sub equal  { my ($self, $other) = @_; return $self->{ip} eq $other->{ip} ? 1 : 0 }

1;
