package ModPerl::Global;

# Lists of subs by package. `END` holds the END blocks of a registered package, in the order of
# compilation. They run only on request.

use strict;
use warnings;
use Mehari ();

my %lists;

sub special_list_register { my ($name, $package) = @_; $lists{$name}{$package} ||= []; return 1 }

sub special_list_add { my ($name, $package, @code) = @_; push @{ $lists{$name}{$package} }, @code; return 1 }

sub special_list_call {
    my ($name, $package) = @_;
    my $list = _list($name, $package) or return 0;
    $_->() for @$list;
    return 1;
}

sub special_list_clear {
    my ($name, $package) = @_;
    my $list = _list($name, $package) or return 0;
    @$list = ();
    return 1;
}

sub _list {
    my ($name, $package) = @_;
    my $list = $lists{$name}{$package} or return undef;
    push @$list, Mehari::take_ends($package) if $name eq 'END';
    return $list;
}

1;
