package APR::Request::Apache2;

# Makes the APR::Request object of a request.

use strict;
use warnings;
use APR::Request ();
use Apache2::RequestRec ();

our @ISA = qw(APR::Request Apache2::RequestRec);

sub handle { my ($class, $r) = @_; return $class->_new($r) }

1;

__END__

=head1 NAME

APR::Request::Apache2 - APR::Request of the current request

=head1 SYNOPSIS

    use APR::Request::Apache2 ();

    sub handler {
        my $r = shift;
        my $q = APR::Request::Apache2->handle($r)->param('q');
        return 0;
    }

=head1 DESCRIPTION

The object has the methods of L<APR::Request> and the methods of the request.

=head1 METHODS

=over 4

=item handle(R)

A class method. Returns the object of a request.

=back

=head1 DIFFERENCES

The parsed form belongs to the request. All objects of one request share it.

=head1 SEE ALSO

L<APR::Request>, L<Apache2::Request>.

=cut
