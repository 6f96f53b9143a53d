package APR::Status;

# Tests error numbers, in the system's and in APR's numbering.

use strict;
use warnings;
use Errno ();

my %NUMBERS = (
    is_EAGAIN       => [Errno::EAGAIN(), Errno::EWOULDBLOCK()],
    is_ENOENT       => [Errno::ENOENT()],
    is_EACCES       => [Errno::EACCES()],
    is_EOF          => [70014],
    is_ECONNABORTED => [Errno::ECONNABORTED()],
    is_ECONNRESET   => [Errno::ECONNRESET()],
    is_TIMEUP       => [70007],
    is_ETIMEDOUT    => [Errno::ETIMEDOUT(), 70007],
    is_EINTR        => [Errno::EINTR()],
    is_EBADF        => [Errno::EBADF()],
    is_EINVAL       => [Errno::EINVAL()],
    is_EEXIST       => [Errno::EEXIST()],
    is_EPIPE        => [Errno::EPIPE()],
    is_ENOTDIR      => [Errno::ENOTDIR()],
);

for my $name (keys %NUMBERS) {
    my %wanted = map { $_ => 1 } @{ $NUMBERS{$name} };
    no strict 'refs';
    *$name = sub { my $number = ref $_[0] ? $_[0]{rc} : $_[0]; return $wanted{ 0 + $number } ? 1 : 0 };
}

1;

__END__

=head1 NAME

APR::Status - tests of error numbers

=head1 SYNOPSIS

    use APR::Status ();
    use APR::Finfo ();
    eval { APR::Finfo::stat('/no/such/file', 0, undef) };
    print "not there\n" if APR::Status::is_ENOENT($@);

=head1 DESCRIPTION

Each function takes a number or an L<APR::Error> and returns 1 or 0.

=head1 FUNCTIONS

=over 4

=item is_EAGAIN, is_ENOENT, is_EACCES, is_EOF, is_ECONNABORTED, is_ECONNRESET, is_TIMEUP

Return whether the number means this error. mod_perl has these functions too.

=item is_ETIMEDOUT, is_EINTR, is_EBADF, is_EINVAL, is_EEXIST, is_EPIPE, is_ENOTDIR

Return whether the number means this error. mod_perl does not have these functions.

=back

=head1 DIFFERENCES

The functions accept the numbers of Linux and the numbers of APR.

=head1 SEE ALSO

L<APR::Error>, L<APR::Const>.

=cut
