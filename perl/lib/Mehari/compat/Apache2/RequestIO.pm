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

__END__

=head1 NAME

Apache2::RequestIO - read the request's body, write the response

=head1 SYNOPSIS

    use Apache2::RequestIO ();

    sub handler {
        my $r = shift;
        my $body = '';
        1 while $r->read($body, 65536, length $body);
        $r->content_type('text/plain');
        $r->print(length $body, " bytes\n");
        $r->sendfile('/etc/motd') == 0 or return 404;
        return 0;
    }

=head1 DESCRIPTION

Loading this module adds methods to L<Apache2::RequestRec>.

=head1 METHODS OF THE REQUEST

=over 4

=item print(TEXTS), puts(TEXTS)

Writes texts and returns the number of bytes, or C<0E0> for none. Text that was decoded is
written as UTF-8. With C<$|> set the output goes out at once.

=item printf(FORMAT, VALUES)

Writes as perl's printf does.

=item write(BUFFER, [LENGTH, [OFFSET]])

Writes a part of a text and returns its length. A length of -1 means the whole. A negative
offset counts from the end. Dies for an offset outside the text and for a length under -1.

=item sendfile(FILE, [OFFSET, [LENGTH]])

Writes a file, or LENGTH bytes from OFFSET on; a length of 0 means to the end. Returns 0 or the
number of the system's error. In void context an error dies with an L<APR::Error>.

=item rflush

Sends what was written so far.

=item read(BUFFER, LENGTH, [OFFSET])

Reads up to LENGTH bytes of the body into the buffer, at OFFSET. A negative offset counts from
the end. Returns the number of bytes, 0 at the end. Dies for a length under 1, for an offset
before the beginning, and if an input filter has failed.

=item discard_request_body

Reads the rest of the body. Returns 0.

=item setup_client_block, should_client_block, get_client_block(BUFFER, LENGTH)

mod_perl 1's way to read: 0; whether there is a body; as C<read>.

=item PRINT, PRINTF, WRITE, READ, READLINE, GETC, BINMODE, CLOSE, FILENO, OPEN, UNTIE, TIEHANDLE

C<tie *STDOUT, $r> and C<tie *STDIN, $r> call these.

=back

=head1 DIFFERENCES

The body of the request is complete before Perl runs, so C<read> never waits. C<print> before
the response phase is allowed. C<sendfile> refuses what is no regular file with the number of
EISDIR. A write beyond the end of the buffer is refused, where mod_perl reads outside of it.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::Filter>, L<APR::PerlIO>, F<docs/reference/modperl.md>.

=cut
