package TestPass::chain;

# The chain as filters and handlers see it, for pass/chain.t: its names, its ends read and written
# by hand, and sub-requests through a part of it.

use strict;
use warnings FATAL => 'all';
use Apache2::Connection  ();
use Apache2::Filter      ();
use Apache2::FilterRec   ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use Apache2::SubRequest  ();
use APR::Brigade ();
use APR::Bucket  ();
use APR::Pool    ();
use Apache2::Const -compile => qw(OK DECLINED);
use Own::Body ();

sub names {
    my $f    = shift;
    my $text = '';
    while ($f->read(my $part, 1024)) { $text .= $part }
    my @names;
    for (my $next = $f; $next; $next = $next->next) { push @names, $next->frec->name }
    $f->print("$text: @names[0, 1]", @names > 2 ? ' and more' : '');
    $f->remove;
    return Apache2::Const::OK;
}

sub declines { return Apache2::Const::DECLINED }
sub before { my $f = shift; while ($f->read(my $part, 1024)) { $f->print("a$part") } return Apache2::Const::OK }
sub behind { my $f = shift; while ($f->read(my $part, 1024)) { $f->print("${part}z") } return Apache2::Const::OK }

sub says { my $r = shift; $r->content_type('text/plain'); $r->puts('some text'); return Apache2::Const::OK }

# Reads the body and writes the answer by brigades alone.
sub by_hand {
    my $r     = shift;
    my $alloc = $r->connection->bucket_alloc;
    my $out   = APR::Brigade->new($r->pool, $alloc);
    my $body  = Own::Body::of($r);
    $r->content_type('text/plain');
    $out->insert_tail(APR::Bucket->new($alloc, uc $body));
    $r->output_filters->fflush($out);
    return Apache2::Const::OK;
}

# Includes its own answer within itself: through all filters, from the second one on, or none.
sub within {
    my $r    = shift;
    my $args = $r->args || '';
    $r->content_type('text/plain');
    if ($args =~ /inner/) { $r->print('x'); return Apache2::Const::OK }
    my %through = (all => $r->output_filters, second => $r->output_filters->next, none => $r->proto_output_filters);
    $r->print('+') if $args =~ /text/;
    $r->lookup_uri($r->uri . '?inner', $args =~ /(all|second|none)/ ? $through{$1} : ())->run;
    $r->print('-') if $args =~ /text/;
    return Apache2::Const::OK;
}

1;
__DATA__
<NoAutoConfig>
PerlModule TestPass::chain
<LocationMatch ^/TestPass__chain>
    SetHandler modperl
</LocationMatch>
# Location, handler, filters.
<Perl>
my %made = (
    names    => 'says names declines',
    hand     => 'by_hand',
    within   => 'within before behind',
);
for my $name (keys %made) {
    my ($handler, @filters) = map { "TestPass::chain::$_" } split ' ', $made{$name};
    $Location{"/TestPass__chain/$name"} = { PerlResponseHandler => $handler, @filters ? (PerlOutputFilterHandler => \@filters) : () };
}
</Perl>
</NoAutoConfig>
