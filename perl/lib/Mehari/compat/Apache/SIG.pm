package Apache::SIG;

# Does nothing in place of mod_perl 1's protection from SIGPIPE. With Mehari, a client that closes
# its connection causes no SIGPIPE in the worker.

use strict;
use warnings;

sub set     { return }
sub handler { return 0 }

1;

__END__

=head1 NAME

Apache::SIG - mod_perl 1's protection from broken pipes

=head1 SYNOPSIS

    PerlFixupHandler Apache::SIG

=head1 DESCRIPTION

With Mehari, a client that closes its connection causes no SIGPIPE in the worker (the process that
runs the Perl code).

=head1 CLASS METHODS

=over 4

=item set

Does nothing.

=item handler

Returns 0.

=back

=head1 DIFFERENCES

The module exists only so that old configurations load.

=head1 SEE ALSO

L<Apache>.

=cut
