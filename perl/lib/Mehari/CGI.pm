# CGI.pm as it is, but that it reads a query in C. Half of what a form costs under CGI.pm is taking its query apart.
package Mehari::CGI;

use strict;
use warnings;
use Mehari ();

# What both must read alike before ours is used: a CGI.pm that reads queries otherwise keeps its own.
my @PROBES = (
    '', '&', ';;&', '=', '=v', 'k', 'k=', 'a=1;b=2&a=3', '&a=1&', 'a=b=c', 'a%3Db=%26', '+a+=+b+', '%', 'a=%4', '%zz=%G1', 'a=%41%e9%00',
    'a=%u263a', 'a=%uD83D%uDE00', "\xe9=\xff", 'k&k&=&=',
);

# Puts ours in CGI.pm's place. Called when CGI.pm has been loaded; again when it was loaded again.
sub install {
    return if !defined &CGI::parse_params || \&CGI::parse_params == \&parse_params;
    return if grep { !defined &{"CGI::$_"} } qw(add_parameter unescape);
    remember_own();
    my $own = \&CGI::parse_params;
    return if grep { _read($own, $_) ne _read(\&parse_params, $_) } @PROBES;
    no warnings qw(redefine once);
    *CGI::parse_params = \&parse_params;
    return;
}

# A query as one text: every parameter in order, with its values.
sub _read {
    my ($parse, $query) = @_;
    my $form = bless {'.parameters' => [], param => {}}, 'CGI';
    return 'no answer' if !eval { $form->$parse($query); 1 };
    my ($order, $values) = @{$form}{qw(.parameters param)};
    return join "\1", scalar(@$order), (map { ($_, @{ $values->{$_} || [] }, "\2") } @$order), scalar keys %$values;
}

1;
