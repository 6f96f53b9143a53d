package APR::Request::Error;

# Is the exception for an invalid form: an APR::Error with one of libapreq2's numbers.

use strict;
use warnings;
use parent 'APR::Error';

my %TEXT = (
    120000 => 'Uploads are disabled for this request',
    120001 => 'Attempt to perform unsafe action with tainted data',
    120010 => 'Malformed input data',
    120011 => 'Invalid input character',
    120012 => 'Invalid byte sequence',
    120013 => 'Invalid attribute',
    120014 => 'Malformed header string',
    120020 => 'Missing input data',
    120021 => 'Expected token not present',
    120022 => 'Missing attribute',
    120023 => 'Missing header',
    120024 => 'Missing parser',
    120030 => 'Conflicting information',
    120031 => 'Exceeds configured maximum limit',
);

sub raise {
    my ($number, $function) = @_;
    my $level = 0;
    $level++ while (caller $level)[0] =~ /\A(?:APR|Apache2?|Mehari)(?:::|\z)/ && caller $level + 1;
    my (undef, $file, $line) = caller $level;
    die __PACKAGE__->new(rc => $number, func => "APR::Request::$function", file => $file, line => $line);
}

# Returns whether a status is an error. It is none if the request has no form, or a body of another
# type.
sub is_error { return $_[0] != 0 && $_[0] != 120020 && $_[0] != 120024 }

sub strerror { return $TEXT{ $_[0] } || APR::Error::strerror($_[0]) }

sub str {
    my ($self) = @_;
    return sprintf '%s: (%d) %s at %s line %d', $self->{func}, $self->{rc}, strerror($self->{rc}), $self->{file}, $self->{line};
}

# Returns the status of the response if nothing catches the exception. It is 4xx, because the form
# comes from the client.
sub http_status { my ($self) = @_; return $self->{rc} == 120031 ? 413 : $self->{rc} == 120000 ? 403 : 400 }

1;

__END__

=head1 NAME

APR::Request::Error - a problem of a form

=head1 SYNOPSIS

    use Apache2::Request ();

    sub handler {
        my $r = shift;
        my $name = eval { Apache2::Request->new($r)->param('name') };
        return $@->http_status if ref $@ && $@->isa('APR::Request::Error');
        return 0;
    }

=head1 DESCRIPTION

The class is an L<APR::Error> with the numbers of libapreq2.

=head1 METHODS

=over 4

=item str

Returns the function, the number, the number's text and the place, as one line.

=item http_status

Returns the status of the response if nothing catches the error: 413 for a body over the limit, 403
for a refused upload, else 400.

=back

=head1 FUNCTIONS

=over 4

=item raise(NUMBER, FUNCTION)

Dies with such an error.

=item is_error(NUMBER)

Returns false for 0 and for the number that means that the request has no form.

=item strerror(NUMBER)

Returns the text of a number.

=back

=head1 DIFFERENCES

If nothing catches the error, the client gets C<http_status>. With libapreq2 the client gets 500.

=head1 SEE ALSO

L<APR::Error>, L<Apache2::Request>.

=cut
