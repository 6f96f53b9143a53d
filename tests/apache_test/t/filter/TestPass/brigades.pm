package TestPass::brigades;

# Filters of input and output that work on brigades, for filter/brigades.t.

use strict;
use warnings FATAL => 'all';
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Filter ();
use Apache2::Connection ();
use APR::Brigade ();
use APR::Bucket ();
use APR::BucketType ();
use APR::Table ();
use base 'Apache2::Filter';
use Apache2::Const -compile => qw(OK DECLINED);
use APR::Const -compile => 'SUCCESS';

sub input_begins : FilterInitHandler { my $f = shift; $f->r->notes->set(begun => 1 + ($f->r->notes->get('begun') || 0)); return Apache2::Const::OK }

sub input : FilterRequestHandler FilterHasInitHandler(\&input_begins) {
    my ($f, $bb, $mode, $block, $most) = @_;
    my $come = APR::Brigade->new($f->r->pool, $f->c->bucket_alloc);
    my $status = $f->next->get_brigade($come, $mode, $block, $most);
    return $status unless $status == APR::Const::SUCCESS;
    while (!$come->is_empty) {
        my $bucket = $come->first;
        $bucket->remove;
        if ($bucket->is_eos) { $bb->insert_tail($bucket); last }
        $bucket->read(my $text);
        $bb->insert_tail(APR::Bucket->new($bb->bucket_alloc, lc $text));
    }
    return Apache2::Const::OK;
}

sub leaves_begins : FilterInitHandler { $_[0]->remove; return Apache2::Const::OK }
sub leaves : FilterRequestHandler FilterHasInitHandler(\&leaves_begins) { die 'it has left' }

sub output : FilterRequestHandler {
    my ($f, $bb) = @_;
    my $made = APR::Brigade->new($f->r->pool, $f->c->bucket_alloc);
    for (my $bucket = $bb->first; $bucket; $bucket = $bb->next($bucket)) {
        last if $bucket->is_eos;
        next unless $bucket->read(my $text);
        $made->insert_tail(APR::Bucket->new($f->c->bucket_alloc, scalar reverse $text));
    }
    my $ended = $bb->last && $bb->last->is_eos;
    $made->insert_tail(APR::Bucket->new($f->c->bucket_alloc, '.')) if $ended;
    $made->insert_tail(APR::Bucket::eos_create($f->c->bucket_alloc)) if $ended;
    return $f->next->pass_brigade($made);
}

sub declines { return Apache2::Const::DECLINED }

# A filter of connections can be compiled here, although nothing calls it.
sub of_connections : FilterConnectionHandler { die 'never called' }

sub echo {
    my $r = shift;
    $r->content_type('text/plain');
    my $all = '';
    while ($r->read(my $text, 8192)) { $all .= $text }
    $r->print($all, $r->notes->get('begun') || '');
    return Apache2::Const::OK;
}

1;
__DATA__
<NoAutoConfig>
PerlModule TestPass::brigades
<Location /TestPass__brigades/in>
    SetHandler modperl
    PerlInputFilterHandler TestPass::brigades::leaves
    PerlInputFilterHandler TestPass::brigades::input
    PerlResponseHandler TestPass::brigades::echo
</Location>
<Location /TestPass__brigades/out>
    SetHandler modperl
    PerlOutputFilterHandler TestPass::brigades::output
    PerlResponseHandler TestPass::brigades::echo
</Location>
<Location /TestPass__brigades/declined>
    SetHandler modperl
    PerlInputFilterHandler TestPass::brigades::declines
    PerlOutputFilterHandler TestPass::brigades::declines
    PerlResponseHandler TestPass::brigades::echo
</Location>
</NoAutoConfig>
