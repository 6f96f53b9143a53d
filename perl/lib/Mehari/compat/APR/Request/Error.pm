package APR::Request::Error;

# A problem of a form: dies with an APR::Error whose number is libapreq2's.

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

# A request without a form, or with a body of another kind, has no error.
sub is_error { return $_[0] != 0 && $_[0] != 120020 && $_[0] != 120024 }

sub strerror { return $TEXT{ $_[0] } || APR::Error::strerror($_[0]) }

sub str {
    my ($self) = @_;
    return sprintf '%s: (%d) %s at %s line %d', $self->{func}, $self->{rc}, strerror($self->{rc}), $self->{file}, $self->{line};
}

# The status of the response if nothing catches the error: the client's fault.
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

This is an L<APR::Error> with libapreq2's numbers.

=head1 METHODS

=over 4

=item str

The function, the number, its text and the place.

=item http_status

The status of the response if nothing catches the error: 413 for a body over the limit, 403 for
a refused upload, else 400.

=back

=head1 FUNCTIONS

=over 4

=item raise(NUMBER, FUNCTION)

Dies with such an error.

=item is_error(NUMBER)

False for 0, and for a request without a form.

=item strerror(NUMBER)

The text of a number.

=back

=head1 DIFFERENCES

An error that nothing catches answers with C<http_status>; libapreq2's answers 500.

=head1 SEE ALSO

L<APR::Error>, L<Apache2::Request>.

=cut
