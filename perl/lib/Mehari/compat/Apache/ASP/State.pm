package Apache::ASP::State;

# Loads the installed Apache::ASP::State unchanged, and adds the value Mehari::State to `StateDB`.
# perl finds this file first, because the folder of this file comes first in @INC.

use strict;
use warnings;

{
    my ($own) = __FILE__ =~ m{\A(.*)/Apache/ASP/State\.pm\z}s;
    my ($installed) = grep { -f } map { "$_/Apache/ASP/State.pm" } grep { !ref && $_ ne ($own // '') } @INC;
    die "Apache::ASP is not installed: no Apache/ASP/State.pm but Mehari's own in \@INC\n" unless $installed;
    local $INC{'Apache/ASP/State.pm'} = $installed;
    do $installed or die $@ || "cannot read $installed: $!\n";
}
require Mehari::State::ApacheASP;

1;

__END__

=head1 NAME

Apache::ASP::State - Apache::ASP's state objects, with Mehari::State as a StateDB

=head1 SYNOPSIS

    PerlSetVar StateDir /var/lib/site/state
    PerlSetVar StateDB  Mehari::State

=head1 DESCRIPTION

With these lines of configuration, one file, C<StateDir/mehari.state>, holds C<$Session>,
C<$Application> and Apache::ASP's own records. All workers (the processes that run Perl code) map
this file. perl finds this module before the installed Apache::ASP::State. This module then loads
the installed module. Sites with another C<StateDB> use the installed module unchanged. C<PerlSetVar
StateStore redis://HOST:PORT/NUMBER> keeps the state in Redis.

=head1 DIFFERENCES

Storable freezes the values, whatever StateSerializer says. Values may be longer than 1024 bytes.
Sessions that Apache::ASP has stored in its own files are not read. Locks, SessionSerialize,
Session_OnEnd and the expiry of sessions remain those of Apache::ASP. Without an installed
Apache::ASP, loading this module dies.

=head1 SEE ALSO

L<Apache::ASP>, L<Mehari::State>, F<docs/reference/state.md>.

=cut
