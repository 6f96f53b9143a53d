# Tests how the histograms of a record are read.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../lib";
use MIME::Base64 qw(encode_base64);
use Test::More;
use Overloaded;

# Encodes counts as HdrHistogram V2: two digits, so 256 values a bucket, and a unit of 1 ns.
sub encoded {
    my @numbers = map { $_ < 0 ? -2 * $_ - 1 : 2 * $_ } @_;
    my $counts = join '', map { $_ < 128 ? chr : chr($_ & 127 | 128) . chr($_ >> 7) } @numbers;
    return encode_base64(pack('N N N N Q> Q> Q>', 0x1c849303, length $counts, 0, 2, 1, 3_600_000_000_000, 0) . $counts, '');
}

is_deeply Overloaded::histogram(encoded()), {}, 'nothing';
is_deeply Overloaded::histogram(encoded(3, -4, 1, 200)), {0 => 3, 5 => 1, 6 => 200}, 'counts and a run of zeros';
# The second bucket counts in steps of two, the third in steps of four.
is_deeply Overloaded::histogram(encoded(-255, 1, 2, 3, -126, 4)), {255 => 1, 256 => 2, 258 => 3, 512 => 4}, 'wider steps';
my %times = (1e6 => 98, 2e6 => 1, 9e6 => 1);
is Overloaded::percentile(\%times, 50), 1, 'the median in milliseconds';
is Overloaded::percentile(\%times, 99), 2, 'the p99';
is Overloaded::within({2e9 => 3, 3e9 => 1}, 2), 3, 'answers in time';
is Overloaded::percentile({}, 99), undef, 'no percentile of nothing';

done_testing;
