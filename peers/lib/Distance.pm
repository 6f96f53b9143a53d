# The distance between the machine's cores. A host may place a virtual machine's cores on one chip
# now and on two a minute later. On two chips all traffic between cores (loopback connections too)
# costs three times as much, and every server answers half as many requests. So each load notes the
# distance before and after, and only samples of one distance are combined or compared.
package Distance;
use strict;
use warnings;
use JSON::PP qw(decode_json);
use Time::HiRes qw(sleep time);

# The binary that measures the distance; the runner sets it.
our $MEHARI;

# A cache line passes within so many nanoseconds between cores that share a cache. From chip to chip
# it takes twice as long.
my $NEAR = 130;
my $LOOK_AGAIN = 2;

# Runs a load and sets {distance} in its result: near, far, moved (it changed meanwhile), or '' if
# it is unknown.
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

# 0 if the distance is unknown: no binary, or one core.
sub nanoseconds {
    return 0 unless -x ($MEHARI // '');
    open my $told, '-|', $MEHARI, 'bench', 'machine', '--json' or return 0;
    my $text = do { local $/; <$told> } // '';
    close $told or return 0;
    return eval { decode_json($text)->{core_crossing_ns}[0] } // 0;
}

# Returns once the cores are near, or after so many seconds.
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

# The samples of one contender and of Mehari beside it (undef for Mehari's own), by distance: [word,
# samples, ours]. Samples during which the cores moved are left out, unless there are no others.
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
