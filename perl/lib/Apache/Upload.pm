package Apache::Upload;

# An uploaded file, as in libapreq 1.

use strict;
use warnings;
use Apache2::Upload ();

our @ISA = ('Apache2::Upload');

sub next { return $_[0]{next} }

# info($name): a header field of the part. Without a name the whole table.
sub info { my ($self, @name) = @_; return @name ? scalar $self->{info}->get($name[0]) : $self->{info} }

1;
