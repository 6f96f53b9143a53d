package Apache2::RequestIO;

# Reads the request's body and writes the response's. Nearly all of it is XS (xs/api/io.c).

use strict;
use warnings;
use Apache2::RequestRec ();

package Apache2::RequestRec;

use strict;
use warnings;

# Methods of a tied handle: `tie *STDOUT, $r`.
sub BINMODE { return 1 }
sub CLOSE   { return 1 }
sub UNTIE   { return 1 }

# Opening a handle that is tied to the request unties it and opens the underlying handle.
sub OPEN {
    my ($self, $mode, @rest) = @_;
    untie *STDOUT;
    return @rest ? open(STDOUT, $mode, $rest[0]) : open(STDOUT, $mode);
}

sub FILENO  { return 1 }

sub discard_request_body { my ($self) = @_; 1 while $self->read(my $part, 65536); return 0 }

# mod_perl 1's interface for reading.
sub setup_client_block  { return 0 }
sub should_client_block { my ($self) = @_; return $self->headers_in->get('Content-Length') || $self->headers_in->get('Transfer-Encoding') ? 1 : 0 }
sub get_client_block    { my $self = shift; return $self->read($_[0], $_[1]) }

1;
