#!/usr/bin/perl
# Checks that Mehari::CGI parses every query as CGI.pm does, with every setting of CGI.pm.

use strict;
use warnings;
use CGI ();
use FindBin;
use Test::More;

BEGIN { require "$FindBin::Bin/psgi.pl" }
use Mehari;
use Mehari::CGI;

my $own = \&CGI::parse_params;
Mehari::CGI::install();
isnt(\&CGI::parse_params, $own, 'installed');
is(\&CGI::parse_params, \&Mehari::CGI::parse_params, 'CGI.pm uses the parser in C');

my @pieces = ('a' .. 'e', '=', '&', ';', '+', '%', '%41', '%u263a', '%uD83D%uDE00', '%ud8', '%2', '%00', '%e9', "\xe9", "\0", ' ', '%3D', '%26', '%25');
srand 7;

sub read_with {
    my ($parse, $query) = @_;
    my $form = bless {'.parameters' => [], param => {}}, 'CGI';
    $form->$parse($query);
    return $form;
}

my $wrong = 0;
for my $number (1 .. 20_000) {
    my $query = join '', map { $pieces[rand @pieces] } 1 .. rand 24;
    local $CGI::NO_UNDEF_PARAMS = $number % 2;
    utf8::upgrade($query) if $number % 5 == 0;
    my ($expected, $got) = map { read_with($_, $query) } $own, \&Mehari::CGI::parse_params;
    next if eq_hash($expected, $got);
    is_deeply($got, $expected, "query $query") or last if $wrong++ < 3;
}
is($wrong, 0, 'both parsers read 20,000 random queries alike');

$ENV{REQUEST_METHOD} = 'GET';
$ENV{QUERY_STRING}   = 'a=1&a=2&b=%41+x';
my $form = CGI->new;
is_deeply([sort $form->param], ['a', 'b'], 'names');
is_deeply([$form->multi_param('a')], [1, 2], 'values');
is(scalar $form->param('b'), 'A x', 'decoded');
is_deeply([CGI->new('x=y;z')->param], ['x', 'z'], 'a given query');

{
    package Shouting;
    our @ISA = 'CGI';
    sub add_parameter { my ($self, $name) = @_; $self->SUPER::add_parameter(uc $name) }
}
is_deeply([sort grep { defined } Shouting->new('a=1')->param], ['A'], 'a subclass that adds parameters itself is called');

{
    no warnings 'redefine';
    local *CGI::unescape = sub { "<$_[0]>" };
    is_deeply([CGI->new('a=1')->param], ['<a>'], 'an unescape of the site is called');
}

{
    no warnings 'redefine';
    *CGI::parse_params = $own;
    local *CGI::parse_params = sub { push @{ $_[0]{'.parameters'} }, 'fixed' };
    my $theirs = \&CGI::parse_params;
    Mehari::CGI::install();
    is(\&CGI::parse_params, $theirs, 'a parser with other results is not replaced');
}

done_testing;
