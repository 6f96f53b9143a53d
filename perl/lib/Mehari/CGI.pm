# Makes CGI.pm cheaper. A parser in C replaces CGI.pm's parser for queries, in which CGI.pm spends
# half of the time of a form. What every form needs is compiled before a process is forked or
# rewound for a request.
package Mehari::CGI;

use strict;
use warnings;
use Mehari ();

# Queries for which both parsers must give the same result. If a result differs, CGI.pm keeps its
# own parser.
my @PROBES = (
    '', '&', ';;&', '=', '=v', 'k', 'k=', 'a=1;b=2&a=3', '&a=1&', 'a=b=c', 'a%3Db=%26', '+a+=+b+', '%', 'a=%4', '%zz=%G1', 'a=%41%e9%00',
    'a=%u263a', 'a=%uD83D%uDE00', "\xe9=\xff", 'k&k&=&=',
);

# Replaces CGI.pm's parser. The server calls it each time that CGI.pm is loaded.
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

# Escapes empty texts as CGI.pm does. HTML::Entities compiles a sub for each set of characters when
# it first escapes them, and keeps the sub. A template calls this before its first request.
sub prepare {
    no warnings 'once';
    local ($@, $_, $!);
    return if !defined $CGI::ENCODE_ENTITIES || !defined &HTML::Entities::encode_entities;
    HTML::Entities::encode_entities(my $text = '', $_) for $CGI::ENCODE_ENTITIES, "$CGI::ENCODE_ENTITIES\012\015";
    return;
}

# Parses a query and returns its parameters, in order and with their values, as one text.
sub _read {
    my ($parse, $query) = @_;
    my $form = bless {'.parameters' => [], param => {}}, 'CGI';
    return 'no answer' if !eval { $form->$parse($query); 1 };
    my ($order, $values) = @{$form}{qw(.parameters param)};
    return join "\1", scalar(@$order), (map { ($_, @{ $values->{$_} || [] }, "\2") } @$order), scalar keys %$values;
}

1;

__END__

=head1 NAME

Mehari::CGI - internal

=head1 DESCRIPTION

This module is internal to the server: it replaces CGI.pm's parser for queries with one in C.

=cut
