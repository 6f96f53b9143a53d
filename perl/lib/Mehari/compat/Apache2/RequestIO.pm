package Apache2::RequestIO;

# Adds methods to `$r` that read the request's body and write the response's body. Nearly all of
# them are XS (xs/api/io.c).

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

# Unties a handle that is tied to the request, and opens the handle itself.
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

Write texts and return the number of bytes, or C<0E0> for none. Decoded text is written as UTF-8. If
C<$|> is set, the output is sent at once.

=item printf(FORMAT, VALUES)

Writes as perl's printf does.

=item write(BUFFER, [LENGTH, [OFFSET]])

Writes a part of a text and returns the length of the part. A length of -1 means the whole text. A
negative offset counts from the end. Dies for an offset outside the text, and for a length below -1.

=item sendfile(FILE, [OFFSET, [LENGTH]])

Writes a file, or LENGTH bytes of the file from OFFSET on. A LENGTH of 0 means the rest of the file.
Returns 0, or the system's error number. In void context it dies with an L<APR::Error> on an error.

=item rflush

Sends what was written so far.

=item read(BUFFER, LENGTH, [OFFSET])

Reads up to LENGTH bytes of the body into the buffer, at OFFSET. A negative offset counts from the
end of the buffer. Returns the number of bytes, or 0 at the end of the body. Dies for a length below
1, for an offset before the beginning, and if an input filter has failed.

=item discard_request_body

Reads the rest of the body. Returns 0.

=item setup_client_block, should_client_block, get_client_block(BUFFER, LENGTH)

Read the body in mod_perl 1's way. C<setup_client_block> returns 0. C<should_client_block> returns
whether there is a body. C<get_client_block> does the same as C<read>.

=item PRINT, PRINTF, WRITE, READ, READLINE, GETC, BINMODE, CLOSE, FILENO, OPEN, UNTIE, TIEHANDLE

Make C<tie *STDOUT, $r> and C<tie *STDIN, $r> work. perl calls them.

=back

=head1 DIFFERENCES

The whole body of the request has arrived before Perl runs, so C<read> never waits. C<print> is
allowed before the response phase too. If the file is no regular file, C<sendfile> returns the
number of EISDIR. C<write> refuses a part that goes beyond the end of the buffer. mod_perl reads
outside of the buffer in this case.

=head1 SEE ALSO

L<Apache2::RequestRec>, L<Apache2::Filter>, L<APR::PerlIO>, F<docs/reference/modperl.md>.

=cut
