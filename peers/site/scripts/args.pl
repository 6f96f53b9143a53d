# Reads a form by hand, from $r->args.
use strict;
use warnings;
my $r = shift;
$r->content_type('text/plain');
my %args;
for my $pair (split /[&;]/, $r->args) {
    my ($name, $value) = map { tr/+/ /r =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ger } split /=/, $pair, 2;
    $args{$name} = $value;
}
print join "\n", map { "$_ => $args{$_}" } sort keys %args;
