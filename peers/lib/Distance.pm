# How far apart the machine's cores are. A host may put the cores of a virtual machine on one chip now and on two a minute later; then
# what goes from one core to the other, a loopback connection too, costs three times as much, and every server answers half as many. So each
# load notes the distance before and after, and only what was taken at one distance is put together or compared.
package Distance;
use strict;
use warnings;
use JSON::PP qw(decode_json);
use Time::HiRes qw(sleep time);

# The binary that tells; the runner names it.
our $MEHARI;

# Nanoseconds in which a cache line passes between cores that share a cache; from chip to chip it takes twice that.
my $NEAR = 130;
my $LOOK_AGAIN = 2;

# Takes a load and notes in its result {distance}: near, far, moved (when it changed meanwhile), or '' where it cannot be told.
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

# 0 where it is not known: no binary, one core.
sub nanoseconds {
    return 0 unless -x ($MEHARI // '');
    open my $told, '-|', $MEHARI, 'bench', 'machine', '--json' or return 0;
    my $text = do { local $/; <$told> } // '';
    close $told or return 0;
    return eval { decode_json($text)->{core_crossing_ns}[0] } // 0;
}

# Returns once the cores are near one another, or after so many seconds.
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

# The samples of one contender and of Mehari beside it (undef for Mehari's own), by distance: [word, samples, ours]. Those during which the cores
# moved are left out, unless there are no others.
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
