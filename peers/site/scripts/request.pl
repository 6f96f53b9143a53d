# Reads a form with Apache2::Request, or by hand if Apache2::Request is not installed.
use strict;
use warnings;
my $r = shift;
our $has_request;
$has_request = eval { require Apache2::Request; 1 } ? 1 : 0 unless defined $has_request;
$r->content_type('text/plain');
my %args;
if ($has_request) {
    my $request = Apache2::Request->new($r);
    %args = map { $_ => scalar $request->param($_) } $request->param;
}
else {
    for my $pair (split /[&;]/, $r->args) {
        my ($name, $value) = map { tr/+/ /r =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ger } split /=/, $pair, 2;
        $args{$name} = $value;
    }
}
print join "\n", map { "$_ => $args{$_}" } sort keys %args;
