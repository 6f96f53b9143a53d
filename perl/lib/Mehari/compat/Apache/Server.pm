package Apache::Server;

# Provides mod_perl 1's server: the result of `Apache->server` and `$r->server`.

use strict;
use warnings;
use Apache ();
use Apache2::ServerRec  ();
use Apache2::ServerUtil ();

our @ISA = ('Apache2::ServerRec');

# The folder of ServerRoot, and two flags that are never true.
our $CWD        = Apache2::ServerUtil::server_root();
our $Starting   = 0;
our $ReStarting = 0;

# Writes a line to the error log. It is a method of the class and of objects.
sub warn { my ($self, @text) = @_; Mehari::log_line(4, join '', @text); return }

sub uid { return Apache2::ServerUtil->user_id }
sub gid { return Apache2::ServerUtil->group_id }

1;

__END__

=head1 NAME

Apache::Server - mod_perl 1's server

=head1 SYNOPSIS

    use Apache::Server ();
    print "of $Apache::Server::CWD\n";

=head1 DESCRIPTION

The class is an L<Apache2::ServerRec>.

=head1 VARIABLES

=over 4

=item $Apache::Server::CWD

The folder of ServerRoot.

=item $Apache::Server::Starting, $Apache::Server::ReStarting

Always 0.

=back

=head1 METHODS

=over 4

=item uid, gid

Return the numbers of the user and the group.

=back

=head1 DIFFERENCES

C<$Starting> and C<$ReStarting> are 0 even while the server starts.

=head1 SEE ALSO

L<Apache2::ServerRec>, L<Apache>.

=cut
