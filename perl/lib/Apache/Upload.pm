package Apache::Upload;

# A file of a form, as libapreq 1 has it.

use strict;
use warnings;
use Apache2::Upload ();

our @ISA = ('Apache2::Upload');

sub next { return $_[0]{next} }

# info($name): a header line of the part; without a name the table.
sub info { my ($self, @name) = @_; return @name ? scalar $self->{info}->get($name[0]) : $self->{info} }

1;
