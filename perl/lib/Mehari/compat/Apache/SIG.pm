package Apache::SIG;

# mod_perl 1's protection from broken pipes. Here a client that leaves causes no SIGPIPE.

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

A client that leaves causes no SIGPIPE here.

=head1 CLASS METHODS

=over 4

=item set

Does nothing.

=item handler

Returns 0.

=back

=head1 DIFFERENCES

There is nothing to protect from.

=head1 SEE ALSO

L<Apache>.

=cut
