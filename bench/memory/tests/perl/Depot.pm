# Writes in ten ways to memory that a worker shares. A mark names the variable of a line.
package Depot;
use strict;
use warnings;
our @numbers = (1 .. 20_000);
our @texts = map { "$_.5" } 1 .. 8_000;
our %hits = map { ("page $_" => 0) } 1 .. 8_000;
our $page = '';
$page .= 'x' x 100 for 1 .. 2_000;
our @objects = map { { name => $_ } } 1 .. 4_000;
our @hashes = map { { key => $_ } } 1 .. 4_000;
our @lines = map { "line $_ with a word" } 1 .. 8_000;
our @things = map { [$_] } 1 .. 4_000;
our @names = map { "name $_" } 1 .. 20_000;
my @prices = map { $_ / 4 } 1 .. 20_000;
sub handle {
    my $list = join ',', @numbers;    # unshares: @Depot::numbers
    my $sum = add_texts();
    count();
    substr($page, 4_096 * $_, 1) = 'y' for 0 .. 40;    # unshares: $Depot::page
    my @copy = @objects;    # unshares: @Depot::objects
    my @first = map { scalar each %$_ } @hashes;    # unshares: @Depot::hashes
    my $found = grep { scalar $_ =~ /word/g } @lines;    # unshares: @Depot::lines
    my @sold = map { bless $_, 'Depot::Sold' } @things;    # unshares: @Depot::things
    @names = sort { $b cmp $a } @names;    # unshares: @Depot::names
    $_ *= 2 for @prices;    # unshares: my @prices
    return length $list;
}
sub add_texts {
    my $sum = 0;
    $sum += $_ for @texts;    # unshares: @Depot::texts
    return $sum;
}
sub count {
    $hits{"page $_"}++ for 1 .. 8_000;    # unshares: %Depot::hits
}
1;
