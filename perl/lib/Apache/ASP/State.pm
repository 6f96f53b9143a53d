package Apache::ASP::State;

# Precedes the installed Apache::ASP::State and loads it unchanged. Adds one value to `StateDB`:
# Mehari::State.

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
