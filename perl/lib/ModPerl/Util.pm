package ModPerl::Util;

# What handlers ask of the interpreter itself.

use strict;
use warnings;
use Mehari ();

our $DEFAULT_UNLOAD_METHOD = 'unload_package_pp';

# exit($status): ends the request, not the worker. No `eval` catches it.
sub exit { CORE::exit(@_ ? $_[0] : 0) }

# One interpreter a worker.
sub current_perl_id { return '0x0' }

sub untaint { ($_[0]) = defined $_[0] ? $_[0] =~ /\A(.*)\z/s : undef; return }

# Forgets a package: its subs and variables, and that its file was loaded. What it imported stays with its owner.
sub unload_package { unload_package_pp(@_) }

sub unload_package_xs { unload_package_pp(@_) }

sub unload_package_pp {
    my ($package) = @_;
    no strict 'refs';
    no warnings qw(redefine once);
    my $stash = \%{"${package}::"};
    my %below = map { /::\z/ ? ($_ => 1) : () } keys %$stash;
    for my $name (keys %$stash) {
        next if $below{$name} || $name =~ /\A__ANON__\z/;
        my $full = "${package}::$name";
        undef &$full if defined &$full && _is_own($package, \&$full);
        close *$full{IO} if ref \$stash->{$name} eq 'GLOB' && *$full{IO} && $name !~ /\ASTD(?:IN|OUT|ERR)\z/;
        delete $stash->{$name};
    }
    my $file = ($package =~ s{::}{/}gr) . '.pm';
    delete $INC{$file};
    require mro;
    mro::method_changed_in($package);
    return;
}

sub _is_own {
    my ($package, $code) = @_;
    require B;
    my $home = B::svref_2object($code)->GV;
    return $home->isa('B::SPECIAL') || $home->STASH->NAME eq $package;
}

1;
