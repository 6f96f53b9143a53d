package Apache::Server;

# mod_perl 1's server: `Apache->server`, `$r->server`.

use strict;
use warnings;
use Apache ();
use Apache2::ServerRec  ();
use Apache2::ServerUtil ();

our @ISA = ('Apache2::ServerRec');

# The folder in which the server was started; true while it starts.
our $CWD        = Apache2::ServerUtil::server_root();
our $Starting   = 0;
our $ReStarting = 0;

# A method of the class or of an object.
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

The numbers of the user and the group.

=back

=head1 DIFFERENCES

The variables for the start are never true.

=head1 SEE ALSO

L<Apache2::ServerRec>, L<Apache>.

=cut
