# Looks up the names of addresses, as HostnameLookups has the server do for each new client. Prints
# for each address the milliseconds of the fastest of three lookups.
use strict;
use warnings;
use Socket qw(getaddrinfo getnameinfo AI_NUMERICHOST);
use Time::HiRes ();

for my $address (@ARGV) {
    my ($error, $found) = getaddrinfo($address, undef, {flags => AI_NUMERICHOST});
    next if $error || !$found;
    my $best;
    for (1 .. 3) {
        my $begun = Time::HiRes::time();
        getnameinfo($found->{addr});
        my $took = Time::HiRes::time() - $begun;
        $best = $took if !defined $best || $took < $best;
    }
    printf "%s\t%.3f\n", $address, 1e3 * $best;
}
