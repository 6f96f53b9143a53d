package TestPass::output;

# Output filters, for pass/output.t: how often they are called, what they keep between calls, how
# they begin and leave.

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

sub flushes { my $r = shift; local $| = 0; for (@_) { $r->print($_); $r->rflush } return Apache2::Const::OK }
sub many   { return flushes($_[0], ('a') x 10) }
sub blocks { return flushes($_[0], ('x' x 5004) x 33) }
sub leaves { my $r = shift; flushes($r, 'Foo'); $r->print('bar'); return Apache2::Const::OK }
sub begun  { my $r = shift; $r->print('begun ', $r->notes->get('begun') || 'not', "\n"); return Apache2::Const::OK }
sub file   { my $r = shift; $r->sendfile($r->document_root . '/files/plain.txt'); return Apache2::Const::OK }
sub evals  { my $r = shift; eval { no_such_sub() }; flushes($r, 'text '); $r->print($@ =~ /Undefined/ ? 'kept' : 'lost'); return Apache2::Const::OK }

sub sized {
    my $r = shift;
    my @parts = map { "$_-" } 'aa' .. 'zz';
    $r->headers_out->set('Content-Length' => length join '', @parts);
    return flushes($r, @parts);
}

sub declines { my $f = shift; my $all = $f->ctx || { calls => 0 }; $f->ctx($all); $f->r->notes->set(calls => ++$all->{calls}); return Apache2::Const::DECLINED }

sub swallows {
    my $f = shift;
    $f->ctx(1 + ($f->ctx || 0));
    1 while $f->read(my $part, 1024);
    $f->print($f->r->notes->get('calls'), ' ', $f->ctx) if $f->seen_eos;
    return Apache2::Const::OK;
}

# Replaces each block of 5003 bytes by a mark.
sub marks {
    my $f   = shift;
    my $all = $f->ctx || { text => '', calls => 0 };
    $all->{calls}++;
    while ($f->read(my $part, 1024)) { $all->{text} .= $part }
    while (length $all->{text} >= 5003) { $f->print('#'); substr $all->{text}, 0, 5003, '' }
    $f->print(" $all->{text} $all->{calls}") if $f->seen_eos;
    $f->ctx($all);
    return Apache2::Const::OK;
}

sub begins : FilterInitHandler { my $f = shift; $f->r->notes->set(begun => 1 + ($f->r->notes->get('begun') || 0)); return Apache2::Const::OK }
sub begins_how { return \&begins }

# What is printed comes after what is passed on.
sub counted : FilterRequestHandler FilterHasInitHandler(begins_how()) {
    my ($f, $bb) = @_;
    $f->ctx(1 + ($f->ctx || 0));
    $f->print('call ', $f->ctx, "\n");
    return $f->next->pass_brigade($bb);
}

# Holds everything back until the end, and announces the length of what it then prints.
sub measures {
    my ($f, $bb) = @_;
    my $text = $f->ctx // '';
    my $ended;
    for (my $bucket = $bb->first; $bucket; $bucket = $bb->next($bucket)) {
        last if $ended = $bucket->is_eos;
        $bucket->read(my $part);
        $text .= $part =~ s/-//gr;
    }
    $f->ctx($text);
    return Apache2::Const::OK unless $ended;
    $f->r->headers_out->set('Content-Length' => length $text);
    $f->print($text);
    return Apache2::Const::OK;
}

sub upper_once  { my $f = shift; while ($f->read(my $part, 1024)) { $f->print(uc $part) } $f->remove; return Apache2::Const::OK }
sub underscores { my $f = shift; while ($f->read(my $part, 1024)) { $f->print($part =~ s/(.)/$1_/gr) } return Apache2::Const::OK }

sub capitals {
    my ($f, $bb) = @_;
    my $made = APR::Brigade->new($f->c->pool, $f->c->bucket_alloc);
    for (my $bucket = $bb->first; $bucket; $bucket = $bb->next($bucket)) {
        if ($bucket->is_eos) { $bucket->remove; $made->insert_tail($bucket); last }
        my $length = $bucket->read(my $part);
        $made->insert_tail(APR::Bucket->new($made->bucket_alloc, uc $part)) if $length;
    }
    return $f->next->pass_brigade($made);
}

1;
__DATA__
<NoAutoConfig>
PerlModule TestPass::output
<LocationMatch ^/TestPass__output>
    SetHandler modperl
</LocationMatch>
# Location, handler, filters.
<Perl>
my %made = (
    many     => 'many declines swallows',
    blocks   => 'blocks marks',
    begun    => 'begun counted',
    sized    => 'sized measures',
    leaves   => 'leaves underscores upper_once',
    evals    => 'evals declines',
    file     => 'file capitals',
);
for my $name (keys %made) {
    my ($handler, @filters) = map { "TestPass::output::$_" } split ' ', $made{$name};
    $Location{"/TestPass__output/$name"} = { PerlResponseHandler => $handler, @filters ? (PerlOutputFilterHandler => \@filters) : () };
}
</Perl>
</NoAutoConfig>
