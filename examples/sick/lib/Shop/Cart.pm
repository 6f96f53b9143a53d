package Shop::Cart;

# The carts of the visitors.

use strict;
use warnings;

our %recent;

# Puts a thing into a visitor's cart. Returns the number of things in the cart.
sub add {
    my ($visitor, $thing) = @_;
    my $cart = $recent{$visitor} ||= {since => time, things => []}; # planted: leak
    push @{$cart->{things}}, $thing;
    return scalar @{$cart->{things}};
}

1;
