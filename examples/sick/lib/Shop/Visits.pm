package Shop::Visits;

# Counts visits by the day's hour. Not sick: the number of hours is bounded.

use strict;
use warnings;
use Apache2::Const -compile => qw(OK);
use Apache2::RequestIO ();
use Apache2::RequestRec ();

my %visits;

sub handler {
    my ($r) = @_;
    my $hour = (localtime)[2];
    $visits{$hour}++;
    $r->content_type('text/plain');
    $r->print("visits of hour $hour: $visits{$hour}\n");
    return Apache2::Const::OK;
}

1;
