# Measures the distance between the machine's cores. A host may run a virtual machine's cores on one
# chip now, and on two chips a minute later. On two chips all traffic between cores, and so on
# loopback connections, costs three times as much, and every server answers half as many requests.
# The distance is therefore measured before and after each load, and only samples with the same
# distance are combined or compared.
package Distance;
use strict;
use warnings;
use JSON::PP qw(decode_json);
use Time::HiRes qw(sleep time);

# The path of the binary that measures the distance. The runner sets it.
our $MEHARI;

# The limit in nanoseconds for `near`. Between cores that share a cache, a cache line takes less
# time. Between chips it takes about twice the limit.
my $NEAR = 130;
my $LOOK_AGAIN = 2;

# Runs a load and sets {distance} in its result: near, far, moved (the distance has changed during
# the load), or '' if the distance is unknown.
sub noted {
    my ($load) = @_;
    my $before = nanoseconds();
    my $result = $load->();
    my $after = nanoseconds();
    $result->{crossing} = [$before, $after];
    $result->{distance} = word($before, $after);
    return $result;
}

sub word {
    my @crossings = @_;
    return '' if grep { !$_ } @crossings;
    my ($before, $after) = map { $_ < $NEAR ? 'near' : 'far' } @crossings;
    return $before eq $after ? $before : 'moved';
}

# Measures the distance in nanoseconds. Returns 0 if it is unknown, because there is no binary or
# only one core.
sub nanoseconds {
    return 0 unless -x ($MEHARI // '');
    open my $told, '-|', $MEHARI, 'bench', 'machine', '--json' or return 0;
    my $text = do { local $/; <$told> } // '';
    close $told or return 0;
    return eval { decode_json($text)->{core_crossing_ns}[0] } // 0;
}

# Waits until the cores are near, but at most this number of seconds.
sub await_near {
    my ($seconds) = @_;
    my $until = time + $seconds;
    while (time < $until) {
        my $crossing = nanoseconds();
        return if !$crossing || $crossing < $NEAR;
        sleep $LOOK_AGAIN;
    }
    return;
}

# Groups samples by distance. Gets the samples of one contender, and those of Mehari beside it
# (undef if the contender is Mehari). Returns a list of [distance, samples, Mehari's samples].
# Samples during which the distance has changed are left out, unless there are no others.
sub groups {
    my ($samples, $ours) = @_;
    my @groups;
    for my $word ('near', 'far', '') {
        my @here = of($word, $samples) or next;
        push @groups, [$word, \@here, $ours && [of($word, $ours)]];
    }
    return @groups ? @groups : ['moved', $samples, $ours];
}

sub of { my ($word, $samples) = @_; return grep { ($_->{distance} // '') eq $word } @$samples }

1;
