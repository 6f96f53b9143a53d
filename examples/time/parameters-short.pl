# Take a short query apart: by hand as `$r->args` does, or with CGI.pm
# Answers: the mod_perl guide, Performance Tuning, where it compares Apache::args, Apache::Request
# and CGI.pm (25 characters).
# Learn: CGI.pm handles files, several values and charsets. Where a query has simple pairs, the
# server's own `$r->args` does less.

# Milliseconds of a whole request: the document's ratio is smaller than that of the parsing alone.
# published: pairs 69
# published: cgi 115
# results: equal

use strict;
use warnings;

use CGI ();
$CGI::LIST_CONTEXT_WARN = 0;
my $text = join '&', map { "$_=" . 'e' x 10 } 'a' .. 'b';

sub pairs {
    my @words = map { split /=/, $_, 2 } split /[&;]/, $text;
    tr/+/ /, s/%([0-9A-Fa-f]{2})/chr hex $1/ge for @words;
    my %value = @words;
    return map { "$_=$value{$_}" } sort keys %value;
}
sub cgi {
    my $query = CGI->new($text);
    my %value = map { $_ => scalar $query->param($_) } $query->param;
    return map { "$_=$value{$_}" } sort keys %value;
}
