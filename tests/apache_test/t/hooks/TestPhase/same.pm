package TestPhase::same;

# A handler that pushes another one, code in a blessed reference, to its own phase.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use APR::Table ();
use Apache2::Const -compile => qw(OK DECLINED);

sub handler {
    my $r = shift;
    $r->notes->set(count => 1 + ($r->notes->get('count') || 0));
    $r->push_handlers(PerlResponseHandler => bless sub { response(shift) }, __PACKAGE__);
    return Apache2::Const::DECLINED;
}

sub response {
    my $r = shift;
    plan $r, tests => 3;
    ok t_cmp($r->notes->get('count'), 1, 'once');
    ok t_cmp(scalar @{ $r->get_handlers('PerlResponseHandler') || [] }, 2, 'two handlers');
    eval { $r->handler('perl-script') };
    ok t_cmp($@, qr/Can't switch from/, 'the kind of handler is settled');
    return Apache2::Const::OK;
}

1;
__END__
<NoAutoConfig>
<Location /TestPhase__same>
    SetHandler modperl
    PerlResponseHandler TestPhase::same
</Location>
</NoAutoConfig>
