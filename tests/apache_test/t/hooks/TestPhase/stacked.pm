package TestPhase::stacked;

# Counts the handlers of each phase that run, for phase/stacked.t. TestPhase::byhand runs all
# phases from within the first.

use strict;
use warnings FATAL => 'all';
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use Apache2::Filter ();
use ModPerl::Util ();
use APR::Table ();
use Apache2::Const -compile => qw(OK DECLINED AUTH_REQUIRED SERVER_ERROR);

sub _count {
    my ($r, $name) = @_;
    $r->notes->set($name => 1 + ($r->notes->get($name) || 0));
    return;
}

sub ok       { $_[0]->user('somebody') if ModPerl::Util::current_callback() eq 'PerlAuthenHandler'; _count($_[0], ModPerl::Util::current_callback()); return Apache2::Const::OK }
sub declined { _count($_[0], ModPerl::Util::current_callback()); return Apache2::Const::DECLINED }
sub fails    { _count($_[0], ModPerl::Util::current_callback()); return Apache2::Const::SERVER_ERROR }
sub refuses  { _count($_[0], ModPerl::Util::current_callback()); return Apache2::Const::AUTH_REQUIRED }

sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    _count($r, ModPerl::Util::current_callback());
    for my $phase (qw(PostReadRequest Trans MapToStorage HeaderParser Access Authen Authz Type Fixup Response)) {
        $r->print("$phase ", $r->notes->get("Perl${phase}Handler") || 0, "\n");
    }
    return Apache2::Const::OK;
}

sub passes {
    my $f = shift;
    _count($f->r, 'filters') unless $f->ctx;
    $f->ctx(1);
    while ($f->read(my $part, 1024)) { $f->print($part) }
    return Apache2::Const::OK;
}

sub tells {
    my $f = shift;
    passes($f);
    $f->print('filters ', $f->r->notes->get('filters'), "\n") if $f->seen_eos;
    return Apache2::Const::OK;
}

1;
__DATA__
<NoAutoConfig>
<VirtualHost TestPhase::stacked>
    PerlModule TestPhase::stacked
    PerlPostReadRequestHandler TestPhase::stacked::ok TestPhase::stacked::ok
    PerlTransHandler TestPhase::stacked::ok TestPhase::stacked::fails
    PerlMapToStorageHandler TestPhase::stacked::ok TestPhase::stacked::fails
    <Location /TestPhase__stacked>
        PerlHeaderParserHandler TestPhase::stacked::ok TestPhase::stacked::declined
        PerlHeaderParserHandler TestPhase::stacked::declined TestPhase::stacked::ok
        PerlAccessHandler TestPhase::stacked::ok TestPhase::stacked::ok
        PerlAuthenHandler TestPhase::stacked::declined TestPhase::stacked::ok
        PerlAuthenHandler TestPhase::stacked::refuses
        PerlAuthzHandler TestPhase::stacked::declined TestPhase::stacked::ok
        PerlAuthzHandler TestPhase::stacked::refuses
        PerlTypeHandler TestPhase::stacked::ok TestPhase::stacked::fails
        PerlFixupHandler TestPhase::stacked::ok TestPhase::stacked::ok
        PerlResponseHandler TestPhase::stacked::declined TestPhase::stacked
        PerlResponseHandler TestPhase::stacked::ok TestPhase::stacked::fails
        PerlOutputFilterHandler TestPhase::stacked::passes TestPhase::stacked::tells
        SetHandler modperl
        AuthType Basic
        AuthName stacked
        Require valid-user
    </Location>
</VirtualHost>
</NoAutoConfig>
