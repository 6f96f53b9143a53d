# Grows in ten ways with each request. A mark says what a line makes grow.
use strict;
use warnings;
package Shop;
our (%seen, @kept, $log, $data);
my %cache;
our $queue = Queue->new;
sub handle {
    my $number = shift;
    $seen{"session $number"} = 'x' x 50;    # grows: %Shop::seen
    push @kept, { number => $number, text => 'y' x 50 };    # grows: @Shop::kept
    $log .= "request $number of many that are remembered\n";    # grows: $Shop::log
    remember($number);
    push @{ $data->{visits}{list} }, 'z' x 60;    # grows: $Shop::data->{visits}{list}
    my $loop;
    $loop = sub { $number++ > 10 ? 1 : $loop->() };    # grows: that holds itself by $loop
    my $parent = { name => 'p' x 40 };
    my $child = { up => $parent };
    $parent->{down} = $child;    # grows: hash that holds itself by {down}{up}
    $queue->add('job ' x 10);
    counted($number);
    no strict 'refs';
    *{"Shop::Made::made$number"} = \("$number" x 20);    # grows: Shop::Made::
}
sub remember {
    my $number = shift;
    $cache{$number} = 'c' x 50;    # grows: my %cache of &Shop::remember
}
sub counted {
    use feature 'state';
    state @numbers;
    push @numbers, "number $_[0]" x 5;    # grows: my @numbers of &Shop::counted
}
package Queue;
sub new { return bless { jobs => [] }, shift }
sub add {
    my ($self, $job) = @_;
    push @{ $self->{jobs} }, $job;    # grows: $Shop::queue->{jobs}
}
1;
