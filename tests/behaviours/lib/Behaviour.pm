package Behaviour;

# The base of the rows of tests/behaviours: the modules of mod_perl's API, and how a list becomes
# an answer.

use strict;
use warnings;

use Apache2::Access ();
use Apache2::CmdParms ();
use Apache2::Command ();
use Apache2::Connection ();
use Apache2::ConnectionUtil ();
use Apache2::Directive ();
use Apache2::Filter ();
use Apache2::FilterRec ();
use Apache2::HookRun ();
use Apache2::Log ();
use Apache2::MPM ();
use Apache2::Module ();
use Apache2::Process ();
use Apache2::RequestIO ();
use Apache2::RequestRec ();
use Apache2::RequestUtil ();
use Apache2::Response ();
use Apache2::ServerRec ();
use Apache2::ServerUtil ();
use Apache2::SubProcess ();
use Apache2::SubRequest ();
use Apache2::URI ();
use Apache2::Util ();
use APR::Base64 ();
use APR::Brigade ();
use APR::Bucket ();
use APR::BucketAlloc ();
use APR::BucketType ();
use APR::Date ();
use APR::Error ();
use APR::Finfo ();
use APR::IpSubnet ();
use APR::OS ();
use APR::Pool ();
use APR::SockAddr ();
use APR::Socket ();
use APR::Status ();
use APR::String ();
use APR::Table ();
use APR::URI ();
use APR::UUID ();
use APR::Util ();
use ModPerl::Global ();
use ModPerl::Util ();
use Apache2::Const -compile => qw(:common :http :log :methods :options :override :cmd_how :context
    :conn_keepalive :filter_type :input_mode :mpmq :remotehost :satisfy :types :proxy :config :platform);
use APR::Const -compile => qw(:common :error :filetype :finfo :fopen :table :uri :poll :read_type
    :socket :status :limit :hook :fprot :lockmech :flock :filepath :shutdown_how);
use ModPerl::Const -compile => 'EXIT';

# A row's own modules are strict, without a `use strict`.
sub import { strict->import; warnings->import; warnings->unimport(qw(redefine once)); }

sub answer {
    my ($r, $code) = @_;
    my @said = eval { $code->($r) };
    my $error = $@;
    $r->content_type('text/plain') unless $r->content_type && $r->content_type eq 'text/html';
    $r->print(map { shown($_) . "\n" } @said);
    $r->print('died: ', cut($error), "\n") if $error;
    return 0;
}

sub cut {
    my $text = "@_";
    $text =~ s/ at \S+ line \d+.*//s;
    return $text;
}

sub shown {
    my $value = shift;
    return 'undef' unless defined $value;
    return '[' . join(', ', map { shown($_) } @$value) . ']' if ref $value eq 'ARRAY';
    return '{' . join(', ', map { "$_ => " . shown($value->{$_}) } sort keys %$value) . '}' if ref $value eq 'HASH';
    return ref $value if ref $value;
    return "'$value'";
}

1;
