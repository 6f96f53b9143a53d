package APR::Status;

# Tests of error numbers, in the system's and in APR's numbering.

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
