package Apache2::Process;

# Represents the process of the server, with a pool for its lifetime.

use strict;
use warnings;
use APR::Pool ();

my $pool;

sub new { return bless {}, shift }

sub pool       { return $pool ||= APR::Pool->of_server }
sub pconf      { return $pool ||= APR::Pool->of_server }
sub short_name { return 'mehari' }

1;

__END__

=head1 NAME

Apache2::Process - the process of the server

=head1 SYNOPSIS

    use Apache2::ServerUtil ();
    my $pool = Apache2::ServerUtil->server->process->pool;

=head1 DESCRIPTION

C<< $s->process >> returns an object of this class.

=head1 METHODS

=over 4

=item new

Returns an object.

=item pool, pconf

Return a pool for the lifetime of the process, an L<APR::Pool>.

=item short_name

Always returns C<mehari>.

=back

=head1 DIFFERENCES

Both methods return the same pool. Nothing calls the cleanups of this pool yet.

=head1 SEE ALSO

L<Apache2::ServerRec>, L<APR::Pool>.

=cut
