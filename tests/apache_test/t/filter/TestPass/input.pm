package TestPass::input;

# Input filters that fail, begin, leave something out or wait for more, for pass/input.t.

use strict;
use warnings FATAL => 'all';
use base 'Apache2::Filter';
use Apache2::Connection  ();
use Apache2::RequestIO   ();
use Apache2::RequestRec  ();
use Apache2::RequestUtil ();
use APR::Brigade ();
use APR::Bucket  ();
use APR::Pool    ();
use APR::Table   ();
use Apache2::Const -compile => qw(OK DECLINED);
use APR::Const -compile => 'SUCCESS';
use Own::Body ();

sub response {
    my $r = shift;
    $r->content_type('text/plain');
    my $body  = $r->dir_config('Dies') ? Own::Body::of($r) : eval { Own::Body::of($r) };
    my $notes = join ' ', map { "$_=" . ($r->notes->get($_) || 0) } qw(begun calls);
    $r->print(!defined $body ? 'failed' : length $body > 100 ? length $body : "($body)", " $notes");
    return Apache2::Const::OK;
}

sub greedy { my $f = shift; $f->read(my $part, 10); return Apache2::Const::DECLINED }
sub dies   { die "on purpose\n" }

sub partly {
    my $f = shift;
    if (!$f->ctx) { $f->read(my $part, 1024); $f->print('only the first'); $f->ctx(1) }
    else { 1 while $f->read(my $part, 1024) }
    return Apache2::Const::OK;
}

sub around {
    my $f = shift;
    $f->print('HEAD ') unless $f->ctx;
    $f->ctx(1);
    while ($f->read(my $part, 1024)) { $f->print($part) }
    $f->print(' TAIL') if $f->seen_eos;
    return Apache2::Const::OK;
}

sub begins : FilterInitHandler {
    my $f = shift;
    $f->r->notes->set(begun => 1 + ($f->r->notes->get('begun') || 0));
    $f->ctx({ calls => 0 });
    return Apache2::Const::OK;
}

sub counted : FilterRequestHandler FilterHasInitHandler(\&begins) {
    my ($f, $bb, @asked) = @_;
    $f->r->notes->set(calls => ++$f->ctx->{calls});
    my $status = $f->next->get_brigade($bb, @asked);
    return $status unless $status == APR::Const::SUCCESS;
    return Apache2::Const::OK;
}

# Returns the text of the next filter's brigade, and whether it contains the end.
sub more {
    my ($f, $mode, $block, $bytes) = @_;
    my $come = APR::Brigade->new($f->r->pool, $f->c->bucket_alloc);
    $f->next->get_brigade($come, $mode, $block, $bytes);
    my ($text, $ended) = ('', 0);
    for (my $bucket = $come->first; $bucket; $bucket = $come->next($bucket)) {
        last if $ended = $bucket->is_eos;
        $bucket->read(my $part);
        $text .= $part;
    }
    $come->destroy;
    return ($text, $ended);
}

# Passes on the first 26 bytes. It reads the rest within the same call and drops it.
sub few {
    my ($f, $bb, $mode, $block, $bytes) = @_;
    my ($text, $ended) = more($f, $mode, $block, 26);
    until ($ended) { (undef, $ended) = more($f, $mode, $block, $bytes) }
    $bb->insert_tail(APR::Bucket->new($bb->bucket_alloc, $text));
    $bb->insert_tail(APR::Bucket::eos_create($bb->bucket_alloc));
    return Apache2::Const::OK;
}

# Passes on pieces of its own size. It asks until it has one, and keeps what is left.
sub pieces {
    my ($f, $bb, $mode, $block, $bytes) = @_;
    my $size = 16_389;
    my ($text, $part, $ended) = ($f->ctx // '', '', 0);
    while (!$ended && length $text < $size) { ($part, $ended) = more($f, $mode, $block, $bytes); $text .= $part }
    while (length $text >= $size) { $bb->insert_tail(APR::Bucket->new($bb->bucket_alloc, substr $text, 0, $size, '')) }
    $f->ctx($ended ? '' : $text);
    return Apache2::Const::OK unless $ended;
    $bb->insert_tail(APR::Bucket->new($bb->bucket_alloc, $text));
    $bb->insert_tail(APR::Bucket::eos_create($bb->bucket_alloc));
    return Apache2::Const::OK;
}

1;
__DATA__
<NoAutoConfig>
PerlModule TestPass::input
<Location /TestPass__input>
    SetHandler modperl
    PerlResponseHandler TestPass::input::response
</Location>
<Location /TestPass__input/dies>
    PerlSetVar Dies yes
</Location>
<Perl>
$Location{"/TestPass__input/$_"} = { PerlInputFilterHandler => "TestPass::input::$_" } for qw(greedy dies partly around counted few pieces);
</Perl>
</NoAutoConfig>
