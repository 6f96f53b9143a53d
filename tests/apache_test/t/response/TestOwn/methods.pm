package TestOwn::methods;

# Every method in mod_perl's own list exists, or dies with a message that names another one.

use strict;
use warnings FATAL => 'all';
use Apache::Test;
use Apache::TestUtil;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use ModPerl::MethodLookup ();
use Apache2::Const -compile => 'OK';

# The package of a module's methods, where it is not the class of that name.
my %CLASSES = (
    'Apache2::Access' => ['Apache2::RequestRec'], 'Apache2::ConnectionUtil' => ['Apache2::Connection'], 'Apache2::HookRun' => ['Apache2::RequestRec'],
    'Apache2::Log' => ['Apache2::RequestRec', 'Apache2::ServerRec', 'Apache2::Log', 'Apache2::Log::Request', 'Apache2::Log::Server'],
    'Apache2::RequestIO' => ['Apache2::RequestRec'], 'Apache2::RequestUtil' => ['Apache2::RequestRec', 'Apache2::RequestUtil'],
    'Apache2::Response' => ['Apache2::RequestRec'], 'Apache2::ServerUtil' => ['Apache2::ServerRec', 'Apache2::ServerUtil'],
    'Apache2::SubProcess' => ['Apache2::RequestRec'], 'Apache2::SubRequest' => ['Apache2::RequestRec', 'Apache2::SubRequest'],
    'Apache2::URI' => ['Apache2::RequestRec', 'Apache2::URI', 'APR::URI'], 'Apache2::Filter' => ['Apache2::Filter', 'Apache2::RequestRec', 'Apache2::Connection'],
    'Apache2::Util' => ['Apache2::Util'], 'APR::Brigade' => ['APR::Brigade', 'APR::Bucket'], 'Apache2::ServerRec' => ['Apache2::ServerRec'],
    'Apache2::compat' => [qw(Apache2::RequestRec Apache Apache2::Connection Apache2::ServerRec)],
);

sub handler {
    my $r = shift;
    my @modules = ModPerl::MethodLookup::avail_modules();
    plan $r, tests => scalar @modules;
    my %loaded;
    for my $module (@modules) {
        (my $file = "$module.pm") =~ s{::}{/}g;
        $loaded{$module} = eval { local $SIG{__WARN__} = sub { }; require $file; 1 };
    }
    for my $module (@modules) {
        my (undef, @methods) = ModPerl::MethodLookup::lookup_module($module);
        my @missing = grep { !_is_there($_, $CLASSES{$module} || [$module]) } @methods;
        # mod_perl's threads, and modules that only a server with threads has.
        @missing = () if !$loaded{$module} && $module =~ /\AModPerl::(?:Interp|TiPool)/;
        ok t_cmp("@missing", '', "$module has all its methods");
    }
    return Apache2::Const::OK;
}

sub _is_there {
    my ($name, $classes) = @_;
    no strict 'refs';
    for my $class (@$classes) { return 1 if defined &{"${class}::$name"} }
    for my $class (@$classes) { my $code = $class->can($name) or next; return 1 if $code != (Apache2::RequestRec->can('AUTOLOAD') || 0) }
    return 0;
}

1;
