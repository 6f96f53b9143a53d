# Makes the table of a run: medians of the rounds, and Mehari's ratio to each peer within a round.
package Table;
use strict;
use warnings;

my @COLUMNS = (
    ['matchup',        sub { $_[0]{name} }],
    ['page',           sub { $_[0]{page} }],
    ['server',         sub { $_[0]{title} }],
    ['cores',          \&cores],
    ['requests/s',     sub { grouped($_[0]{rate}) }],
    ['lowest..highest', sub { join '..', map { grouped($_) } @{$_[0]{spread}} }],
    ['p50 us',         sub { grouped($_[0]{p50}) }],
    ['p99 us',         sub { grouped($_[0]{p99}) }],
    ['CPU us/request', sub { tenths($_[0]{cpu_us}) }],
    ['with client',    sub { tenths($_[0]{both_us}) }],
    ['private KiB',    sub { grouped($_[0]{private_kib}) }],
    ['Mehari x',       sub { defined $_[0]{ratio} ? sprintf '%.2f', $_[0]{ratio} : '' }],
    ['faults',         sub { $_[0]{faults} }],
);

# Returns the distance of the cores, and the number of samples at this distance.
sub cores { my ($row) = @_; return join ' ', grep { length } $row->{distance}, "x$row->{rounds}" }

# Returns the text of the table. rows: results of row(). Columns are as wide as their content.
# Figures are aligned at the right.
sub text {
    my @rows  = @_;
    my @cells = ([map { $_->[0] } @COLUMNS], map { my $row = $_; [map { $_->[1]->($row) // '-' } @COLUMNS] } @rows);
    my @width = map { my $column = $_; (sort { $b <=> $a } map { length $_->[$column] } @cells)[0] } 0 .. $#COLUMNS;
    return join '', map { my $line = $_; (join('  ', map { aligned($line->[$_], $width[$_], $_) } 0 .. $#COLUMNS) =~ s/\s+\z//r) . "\n" } @cells;
}

sub aligned {
    my ($cell, $width, $column) = @_;
    my $left = $column < 4 || $column == $#COLUMNS;
    return sprintf $left ? '%-*s' : '%*s', $width, $cell;
}

# Makes a row from the rounds of one contender and the rounds of Mehari in the same contest (undef
# for Mehari's own row). All rounds have the same distance of the cores.
sub row {
    my ($contest, $title, $distance, $rounds, $ours) = @_;
    my %row = (name => $contest->{name}, page => $contest->{page}, title => $title, distance => $distance, rounds => scalar @$rounds);
    for my $measure (qw(rate p50 p99 cpu_us both_us private_kib)) {
        $row{$measure} = median(map { $_->{$measure} } @$rounds);
    }
    $row{spread} = [(sort { $a <=> $b } map { $_->{rate} } @$rounds)[0, -1]];
    $row{faults} = (grep { length } map { $_->{faults} } @$rounds)[0] // '';
    if ($ours) {
        my $pairs = @$ours < @$rounds ? @$ours : @$rounds;
        $row{ratio} = median(map { $rounds->[$_]{rate} > 0 ? $ours->[$_]{rate} / $rounds->[$_]{rate} : undef } 0 .. $pairs - 1);
    }
    return \%row;
}

sub median {
    my @sorted = sort { $a <=> $b } grep { defined } @_;
    return undef unless @sorted;
    return ($sorted[($#sorted) / 2] + $sorted[@sorted / 2]) / 2;
}

sub tenths { my ($number) = @_; return defined $number ? sprintf '%.1f', $number : '-' }

sub grouped {
    my ($number) = @_;
    return '-' unless defined $number;
    my $text = sprintf '%.0f', $number;
    1 while $text =~ s/^(\d+)(\d{3})/$1,$2/;
    return $text;
}

1;
