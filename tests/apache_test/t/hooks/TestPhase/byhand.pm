package TestPhase::byhand;

# Runs all phases of a request by hand from within the first phase.

use strict;
use warnings FATAL => 'all';
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use Apache2::HookRun ();
use APR::Table ();
use ModPerl::Util ();
use Apache2::Const -compile => qw(OK DECLINED DONE SERVER_ERROR);

my @PHASES = map { "Perl${_}Handler" } qw(Trans MapToStorage HeaderParser Access Authen Authz Type Fixup Log);

sub first {
    my $r = shift;
    $r->push_handlers($_ => \&any) for @PHASES;
    any($r);
    for my $step (qw(run_translate_name run_map_to_storage)) { my $answer = $r->$step; return $answer unless $answer == Apache2::Const::OK || $answer == Apache2::Const::DECLINED }
    $r->location_merge('/TestPhase__byhand');
    my $answer = $r->run_header_parser;
    return $answer unless $answer == Apache2::Const::OK || $answer == Apache2::Const::DECLINED;
    if (($r->args || '') eq 'die') {
        $r->die(Apache2::Const::SERVER_ERROR);
        return Apache2::Const::DONE;
    }
    for my $step (qw(run_access_checker run_auth_checker run_check_user_id run_type_checker run_fixups invoke_handler run_log_transaction)) {
        my $answer = $r->$step;
        return $answer unless $answer == Apache2::Const::OK || $answer == Apache2::Const::DECLINED;
    }
    return Apache2::Const::DONE;
}

sub any {
    my $r = shift;
    my $phase = ModPerl::Util::current_callback();
    $r->notes->set($phase => 1);
    $r->set_handlers($phase => []);
    return Apache2::Const::OK;
}

sub response {
    my $r = shift;
    $r->print(map { "$_ " . ($r->notes->get($_) // 'no') . "\n" } 'PerlPostReadRequestHandler', @PHASES[0 .. 7]);
    return Apache2::Const::OK;
}

1;
__END__
<NoAutoConfig>
<VirtualHost TestPhase::byhand>
    PerlModule TestPhase::byhand
    PerlPostReadRequestHandler TestPhase::byhand::first
    <Location /TestPhase__byhand>
        SetHandler modperl
        PerlResponseHandler TestPhase::byhand::response
    </Location>
</VirtualHost>
</NoAutoConfig>
